import type { FactsMeasured } from './facts-measure.ts';
import { measuredCore, startPinned } from './pinned-process.ts';
import { table } from './statistics.ts';

const measurements = [
  { topic: 'relations', entries: 10_000_000, aim: 12 },
  { topic: 'attendance', entries: 1_000_000, aim: 40 },
] as const;

/** Bytes that a relation and an attendance take in the projector's memory. */
export async function benchFacts(): Promise<void> {
  const rows: string[][] = [];
  for (const { topic, entries, aim } of measurements) {
    const process = await startPinned('facts-measure.ts', [], measuredCore, ['--expose-gc']);
    try {
      const measured = await process.ask<FactsMeasured>({ topic, entries });
      rows.push([
        topic,
        `${measured.entries / 1e6}M`,
        `${measured.riders / 1e6}M`,
        `${(measured.bytes / measured.entries).toFixed(1)} B`,
        `${((measured.bytes + measured.idBytes) / measured.entries).toFixed(1)} B`,
        `${(measured.idBytes / measured.riders).toFixed(0)} B`,
        `${aim} B`,
        `${measured.foldSeconds.toFixed(1)} s`,
      ]);
    } finally {
      await process.end();
    }
  }
  console.log('Facts in memory: heap and array buffers after a collection, less those before');
  console.log(
    table(['facts', 'entries', 'riders', 'an entry', 'with rider ids', 'a rider id', 'aim', 'folded in'], rows),
  );
}
