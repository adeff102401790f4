import fc from 'fast-check';
import { deliveredRecord } from '../../../infra/kafka/log/delivered-record.ts';
import type { EncodedRecord } from '../../../projector/ports/event-log.ts';
import { encodeValue } from '../../../schemas/avro/codec.ts';
import { WriterSchemas } from '../../../schemas/avro/writer-schemas.ts';
import { murmur2Partition } from '../../../schemas/events/partitioner.ts';
import { type TopicName, topicNames } from '../../../schemas/events/records.ts';
import { badChange } from './bad-record-arb.ts';
import { type Change, good, goodChange, weighted } from './record-arbs.ts';
import * as universe from './universe.ts';

/** A record with its place in the log. */
export interface HistoryRecord extends Change {
  partition: number;
  offset: number;
  timestampMs: number;
}

export interface History {
  /** The day (since 1970-01-01) that the history plays around. */
  today: number;
  /** How many partitions each topic has. */
  partitions: Record<TopicName, number>;
  /** In the order of publication; so each partition's are in the order of their offsets, which skip numbers. */
  records: HistoryRecord[];
}

const writers = new WriterSchemas();

/** The record as Kafka's log delivers it. */
export function toLogRecord({ topic, partition, offset, timestampMs, key, value }: HistoryRecord): EncodedRecord {
  const bytes = value && encodeValue(topic, value);
  const fetched = { offset, timestampMs, key: Buffer.from(key), value: bytes, headers: [] };
  return deliveredRecord(topic, partition, fetched, writers, false) as EncodedRecord;
}

/** Histories of every sort: worlds with changes, and changes alone, which make little sense together. */
export function historyArb(): fc.Arbitrary<History> {
  return weighted(
    [3, worldArb()],
    [1, era.chain((today) => placed(today, fc.array(changed(today), { maxLength: 80, size: 'max' })))],
  );
}

/** Mostly coherent: nearly everything there can be is published once, in any order, and then some of it changes. Most answers show something. */
export function worldArb(): fc.Arbitrary<History> {
  return era.chain((today) => {
    const base = fc.tuple(...everything(today).map((change) => ranked(change, 0, 1000)));
    const later = fc.array(ranked(changed(today), 500, 2000), { maxLength: 40, size: 'max' });
    const all = fc
      .tuple(base, later)
      .map(([first, rest]) => [...first.filter(({ change }) => change !== null), ...rest] as Ranked[])
      .map((list) => list.toSorted((a, b) => a.rank - b.rank).map(({ change }) => change!));
    return placed(today, all);
  });
}

const era = fc.oneof(...universe.eras.map(([weight, today]) => ({ weight, arbitrary: fc.constant(today) })));

const changed = (today: number): fc.Arbitrary<Change> => weighted([12, goodChange(today)], [1, badChange(today)]);

interface Ranked {
  rank: number;
  change: Change | null;
}

const ranked = (change: fc.Arbitrary<Change | null>, min: number, max: number): fc.Arbitrary<Ranked> =>
  fc.record({ rank: fc.integer({ min, max }), change });

/** A record of each key of a coherent world; of attendance half. Each may be missing, so a failing world shrinks to what matters. */
function everything(today: number): fc.Arbitrary<Change | null>[] {
  // One in `missing` is null.
  const some = (missing: number, change: fc.Arbitrary<Change>) => fc.option(change, { freq: missing });
  const slots = universe.nightSlots.map(({ ride, offset }) => ({ ride, day: today + offset }));
  const things: fc.Arbitrary<Change>[] = [
    ...universe.metros.map((id) => good.metros(id)),
    ...universe.districts.slice(0, 4).map((id) => good.districts(id)),
    ...universe.keyIds.slice(0, 2).map((id) => good['developer-keys'](id)),
    ...universe.riders.map((id) => good.riders(id)),
    ...universe.rides.map((id) => good.rides(id)),
    ...slots.map(({ ride, day }) => good.nights(ride, day)),
  ];
  const rsvps = slots.flatMap(({ ride, day }) => universe.riders.map((id) => good.attendance(ride, day, id)));
  const relations = universe.riders.flatMap((rider) =>
    universe.riders.filter((other) => other !== rider).map((other) => good.relations(rider, other)),
  );
  return [
    ...things.map((change) => some(12, change)),
    ...rsvps.map((change) => some(2, change)),
    ...relations.map((change) => some(5, change)),
  ];
}

/** Gives changes their partitions (by key), offsets (with gaps) and timestamps (in order). */
function placed(today: number, changes: fc.Arbitrary<Change[]>): fc.Arbitrary<History> {
  const counts = fc.tuple(...topicNames.map(() => fc.integer({ min: 1, max: 4 })));
  const gaps = fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 1, maxLength: 7 });
  return fc.tuple(changes, counts, gaps).map(([list, partitionCounts, offsetGaps]) => {
    const partitions = Object.fromEntries(topicNames.map((topic, i) => [topic, partitionCounts[i]!]));
    const nextOffsets = new Map<string, number>();
    const records = list.map((change, i): HistoryRecord => {
      const partition = murmur2Partition(Buffer.from(change.key), partitions[change.topic]!);
      const place = `${change.topic}/${partition}`;
      const offset = (nextOffsets.get(place) ?? 0) + offsetGaps[i % offsetGaps.length]!;
      nextOffsets.set(place, offset + 1);
      return { ...change, partition, offset, timestampMs: today * 86_400_000 + i * 1000 };
    });
    return { today, partitions: partitions as Record<TopicName, number>, records };
  });
}
