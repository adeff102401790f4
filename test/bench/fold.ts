import type { FoldRound } from './fold-rounds.ts';
import { measuredCore, otherCore, pin, startPinned } from './pinned-process.ts';
import { median, millions, table } from './statistics.ts';

const warmUps = 2;
const rounds = 9;
const logs = [
  ['mixed', 'mixed'],
  ['attendance', 'attendance alone'],
] as const;

/** Records folded a second of CPU time, as a ratio to bare Avro decoding of the same bytes. */
export async function benchFold(): Promise<void> {
  pin(process.pid, otherCore);
  const rows: string[][] = [];
  for (const [log, name] of logs) {
    const process = await startPinned('fold-rounds.ts', [], measuredCore, ['--expose-gc']);
    try {
      const { records } = await process.ask<{ records: number }>({ log });
      await process.ask({ rounds: warmUps });
      const measured = await process.ask<FoldRound[]>({ rounds });
      rows.push([
        name,
        `${Math.round(records / 1000)}k`,
        millions(median(measured.map(({ bare }) => bare))),
        millions(median(measured.map(({ fold }) => fold))),
        median(measured.map(({ fold, bare }) => fold / bare)).toFixed(2),
        '0.50',
      ]);
    } finally {
      await process.end();
    }
  }
  console.log(`Fold: ${rounds} alternating rounds, records a second of CPU time, medians`);
  console.log(table(['log', 'records', 'bare decoding', 'fold', 'ratio', 'aim'], rows));
}
