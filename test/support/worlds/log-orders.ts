import fc from 'fast-check';
import type { LogBatch } from '../../../projector/ports/event-log.ts';
import { type TopicName, topicNames } from '../../../schemas/events/records.ts';
import { type History, type HistoryRecord, toLogRecord } from './histories.ts';
import { weighted } from './record-arbs.ts';

/** What else a follower of the same log may be handed: other interleavings, other batches, repeats, a compacted log. */

interface Partition {
  topic: TopicName;
  partition: number;
  records: HistoryRecord[];
}

/** Every partition, the empty ones too, with its records in offset order. */
function partitionsOf(history: History): Partition[] {
  return topicNames.flatMap((topic) =>
    Array.from({ length: history.partitions[topic] }, (_, partition) => ({
      topic,
      partition,
      records: history.records.filter((record) => record.topic === topic && record.partition === partition),
    })),
  );
}

/** The same records in other orders, each partition's own order kept. */
export function interleavings(history: History): fc.Arbitrary<HistoryRecord[]> {
  const runs = fc.array(fc.tuple(fc.nat(31), fc.integer({ min: 1, max: 6 })), { maxLength: 60, size: 'max' });
  return runs.map((picks) => {
    const queues = partitionsOf(history).map(({ records }) => [...records]);
    const order: HistoryRecord[] = [];
    for (const [pick, length] of picks) {
      const open = queues.filter((queue) => queue.length > 0);
      order.push(...(open[pick % Math.max(open.length, 1)]?.splice(0, length) ?? []));
    }
    return [...order, ...queues.flat()];
  });
}

/** The log in batches of any size and interleaving, some empty. Partitions may go back, as after a restart; each ends at its end. */
export function deliveries(history: History): fc.Arbitrary<LogBatch[]> {
  const step = fc.record({
    pick: fc.nat(31),
    length: fc.integer({ min: 0, max: 12 }),
    back: weighted([5, fc.constant(0)], [1, fc.integer({ min: 1, max: 12 })]),
  });
  return fc.array(step, { maxLength: 60, size: 'max' }).map((steps) => {
    const partitions = partitionsOf(history).map((partition) => ({ ...partition, next: 0 }));
    const batches: LogBatch[] = [];
    const deliver = (one: (typeof partitions)[number], length: number): void => {
      const records = one.records.slice(one.next, one.next + length);
      one.next += records.length;
      const last = one.records[one.next - 1];
      const { topic, partition } = one;
      batches.push({ topic, partition, records: records.map(toLogRecord), nextOffset: last ? last.offset + 1 : 0 });
    };
    for (const { pick, length, back } of steps) {
      const one = partitions[pick % partitions.length]!;
      one.next = Math.max(0, one.next - back);
      deliver(one, length);
    }
    for (const one of partitions) {
      if (one.next < one.records.length) deliver(one, one.records.length);
    }
    return batches;
  });
}

/**
 * What compaction may leave of the log: any record goes that has a later one under its key, a tombstone also once it
 * is the last of its key. A bad later record counts as later: compaction knows nothing of good and bad, so that a
 * compacted log may stand for other facts than the whole one did.
 */
export function compactions(history: History): fc.Arbitrary<History> {
  const count = history.records.length;
  const drops = fc.oneof(
    fc.constant(new Array<boolean>(count).fill(true)),
    fc.array(fc.boolean(), { minLength: count, maxLength: count, size: 'max' }),
  );
  return drops.map((dropped) => {
    const id = (record: HistoryRecord): string => `${record.topic} ${record.key}`;
    const last = new Map(history.records.map((record, i) => [id(record), i]));
    const kept = history.records.filter((record, i) => !(dropped[i] && last.get(id(record)) !== i));
    const keptOfKey = Map.groupBy(kept, id);
    const isLoneTombstone = (record: HistoryRecord): boolean =>
      record.value === null && keptOfKey.get(id(record))!.length === 1;
    const atEnd = history.records.map((record, i) => [record, dropped[i]] as const);
    const gone = new Set(atEnd.filter(([record, drop]) => drop && isLoneTombstone(record)).map(([record]) => record));
    return { ...history, records: kept.filter((record) => !gone.has(record)) };
  });
}
