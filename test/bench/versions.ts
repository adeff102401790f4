import { resolve } from 'node:path';

/** A checkout whose commands are measured: this one, or the one that --old names. */
export interface Version {
  name: 'this' | 'old';
  folder: string;
}

/** What one round measured, by the rows' names. Every figure is a cost: less is better. */
export type Figures = Record<string, number>;

/** A row of the report. */
export interface Row {
  name: string;
  unit: 'µs' | 'ms' | 's' | 'MiB' | 'B' | '/s' | 'kB/s';
  /** The row that it is a multiple of: of the same round. */
  to?: string;
  aim?: string;
}

/** A benchmark that is ready to be measured. */
export interface Ready {
  title: string;
  rows: readonly Row[];
  /** One round of a version. */
  measure(version: Version): Promise<Figures>;
}

export interface Bench {
  /** Options of its own, with their defaults, beside `old` and `rounds`. */
  options?: Record<string, string>;
  prepare(
    versions: readonly Version[],
    options: Readonly<Record<string, string>>,
    ended: AsyncDisposableStack,
  ): Promise<Ready>;
}

/** Measures the versions in turns, and prints the medians of the rounds, and of the rounds' ratios. */
export async function measureInTurns(
  bench: Bench,
  { old, rounds = '5', ...options }: Record<string, string>,
): Promise<void> {
  await using ended = new AsyncDisposableStack();
  const versions: Version[] = [{ name: 'this', folder: resolve(import.meta.dirname, '../..') }];
  if (old) versions.push({ name: 'old', folder: resolve(old) });
  const { title, rows, measure } = await bench.prepare(versions, { ...bench.options, ...options }, ended);
  const measured = { this: [] as Figures[], old: [] as Figures[] };
  for (let round = 0; round < Number(rounds); round++) {
    // Turn and turn about, so that neither always follows the other.
    for (const version of round % 2 === 0 ? versions : versions.toReversed()) {
      measured[version.name].push(await measure(version));
    }
  }
  console.log(`${title}; ${rounds} rounds${old ? ' in turns' : ''}, medians`);
  console.table(report(rows, measured));
}

/** By row: its cells. */
function report(rows: readonly Row[], { this: now, old }: Record<'this' | 'old', readonly Figures[]>): object {
  const values = (rounds: readonly Figures[], name: string) => rounds.map((figures) => figures[name] ?? Number.NaN);
  const ratio = (over: readonly number[], under: readonly number[]) =>
    median(over.map((value, round) => value / under[round]!)).toFixed(2);
  const cells = rows.map(({ name, unit, to, aim = '' }) => {
    const text = (rounds: readonly Figures[]) => `${shortest(median(values(rounds, name)))} ${unit}`;
    const timesBaseline = to ? ratio(values(now, name), values(now, to)) : '';
    const own = { this: text(now), 'times its baseline': timesBaseline, aim };
    const compared = () => ({ old: text(old), 'times the old': ratio(values(now, name), values(old, name)) });
    return [name, { ...own, ...(old.length > 0 && compared()) }];
  });
  return Object.fromEntries(cells);
}

/** Three digits that count. */
const shortest = (value: number): string => (value >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(3))));

/** The value below which a share (0 to 1) of the values lie. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}

const median = (values: readonly number[]): number => quantile(values, 0.5);
