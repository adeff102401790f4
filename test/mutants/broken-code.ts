import { readFileSync } from 'node:fs';
import { glob } from 'node:fs/promises';
import { dirname, relative, resolve } from 'node:path';
import { Instrumenter } from '@stryker-mutator/instrumenter';

// Texts are names, which types hold, messages, whose words nobody promised, and Lua, which script-mutants.ts breaks.
const excludedMutations = ['StringLiteral'];
const silent = { isDebugEnabled: () => false, debug() {}, info() {} };

/** One small way to break the code. */
export interface Mutant {
  id: string;
  folder: string;
  /** Path, line and column. */
  place: string;
  /** The code there, and what takes its place. */
  change: string;
}

export interface BrokenCode {
  mutants: readonly Mutant[];
  /** By path: the code with all its mutants in it, each of which a switch turns on. */
  sources: ReadonlyMap<string, string>;
}

/** Breaks the code of these files and folders in every small way, without changing a file. */
export async function brokenCode(paths: readonly string[]): Promise<BrokenCode> {
  const patterns = paths.map((path) => (path.endsWith('.ts') ? path : `${path}/**/*.ts`));
  const names = (await Array.fromAsync(glob(patterns))).sort();
  const files = names.map((name) => ({ name: resolve(name), content: readFileSync(name, 'utf8'), mutate: true }));
  const broken = await new Instrumenter(silent as never).instrument(files, {
    plugins: null,
    excludedMutations,
    ignorers: [],
  });
  const linesOf = new Map(files.map(({ name, content }) => [name, content.split('\n')]));
  return {
    mutants: broken.mutants
      .filter(({ status }) => status !== 'Ignored')
      .map(({ id, fileName, location: { start, end }, replacement }) => {
        const path = relative('.', fileName);
        const code = linesOf.get(fileName)!.slice(start.line, end.line + 1);
        code.push(code.pop()!.slice(0, end.column));
        code[0] = code[0]!.slice(start.column);
        return {
          id,
          folder: dirname(path),
          place: `${path}:${start.line + 1}:${start.column + 1}`,
          change: `${shortly(code.join(' '))} → ${shortly(replacement)}`,
        };
      }),
    sources: new Map(broken.files.map(({ name, content }) => [name, content])),
  };
}

const shortly = (code: string): string => code.replaceAll(/\s+/g, ' ').slice(0, 90);
