import { existsSync, readFileSync } from 'node:fs';

export const kept = '.cache/mutants';
export const planFile = `${kept}/plan.json`;

/** What a run of the judging tests is for: which mutants each test reaches, or which of these it tells. */
export interface Plan {
  /** Where lines are kept of what was seen. */
  record: string;
  /** By test, the mutants that it reaches, and how often. Without it, the run only notes them. */
  reached?: Record<string, Record<string, number>>;
  /** By test, how long it takes without a mutant. */
  tookMs?: Record<string, number>;
}

/** What became of a mutant in a test. */
export type Verdict = { mutant: string; fate: 'survived' | 'told' | 'late'; by: string };

export type Line =
  | { test: string; file: string; name: string; tookMs: number; passed: boolean; reached: Record<string, number> }
  | { atLoad: string[] }
  | { begun: string; by: string }
  | Verdict
  | { spoiled: string }
  | { ended: string };

export const linesOf = (record: string): Line[] =>
  existsSync(record)
    ? readFileSync(record, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line))
    : [];

/** The mutants that were told or late, and which of both: nothing judges them again. */
export const overIn = (lines: readonly Line[]) =>
  new Map(lines.flatMap((line) => ('fate' in line && line.fate !== 'survived' ? [[line.mutant, line.fate]] : [])));
