import { LargeMap, LargeSet } from '../../../projector/facts/large-map.ts';
import type { Bounds, EventLog } from '../../../projector/ports/event-log.ts';
import { positionOf } from '../../../projector/position.ts';
import { type TopicName, topicNames } from '../../../schemas/events/records.ts';
import { followToEnds } from '../backends/follow-to-ends.ts';
import { UsageError } from '../command/io.ts';
import { type LoadSource, loadSequence } from './load-sequence.ts';
import { RecordColumns } from './record-columns.ts';

/** How many records of a load each partition has already, by topic. */
export type LoadStart = Record<TopicName, number[]>;

const load = 'Cannot load the archive';
const anew = 'load into empty topics, for example of a new KAFKA_TOPIC_PREFIX';

/**
 * Finds where a load begins in each partition, from what the topics hold: nothing, or the beginning of this same load,
 * which was stopped. Throws UsageError for anything else. `append`: other records may come before it, but none
 * that is newer than a record of its key that would follow. After all of it others may come too: it is not loaded twice.
 */
export async function loadStart(source: LoadSource, log: EventLog, append: boolean): Promise<LoadStart> {
  const start = {} as LoadStart;
  for (const topic of topicNames) {
    const bounds = source.there[topic];
    start[topic] = bounds.map(() => 0);
    if (bounds.every(({ low, end }) => low === end)) continue;
    const there = await readThere(source, log, topic);
    const wanted = await readWanted(source, topic, append ? null : bounds);
    const compare = append ? appended : continued;
    for (const partition of bounds.keys()) {
      start[topic][partition] = compare(`${topic}/${partition}`, there[partition]!, wanted[partition]!);
    }
  }
  return start;
}

function continued(place: string, there: RecordColumns, wanted: RecordColumns): number {
  if (isBeginning(there, 0, wanted)) return there.length;
  throw new UsageError(
    `${load}: ${place} holds records that are not its beginning: another producer has published there, or the archive, its number of partitions or --keep-partitions were others when it was begun; ${anew}, or add to what is there with --append`,
  );
}

function appended(place: string, there: RecordColumns, wanted: RecordColumns): number {
  const { count, isFollowed } = loadedAnywhere(there, wanted);
  if (isFollowed && count < wanted.length) {
    throw new UsageError(
      `${load}: ${place} holds the first ${count} of the ${wanted.length} records of this load, and then others: another producer has published there since it was begun; ${anew}`,
    );
  }
  const newer = newerKeys(there, wanted, count);
  if (newer === 0) return count;
  throw new UsageError(
    `${load}: ${place} holds newer records than the archive of ${newer} of its keys, which the load would overwrite: another producer has published there since; ${anew}`,
  );
}

/** What the topic's partitions hold, each from its first offset on. */
async function readThere(
  { there: bounds, signal }: LoadSource,
  log: EventLog,
  topic: TopicName,
): Promise<RecordColumns[]> {
  const there = bounds[topic].map(() => new RecordColumns());
  const from = positionOf(bounds, 'end');
  from[topic] = bounds[topic].map(({ low }) => low);
  await followToEnds(log, from, bounds, signal, (batch) => {
    if (batch.topic !== topic) return;
    const { low, end } = bounds[topic][batch.partition]!;
    const columns = there[batch.partition]!;
    for (const record of batch.records) {
      if (record.offset >= end) break;
      columns.addGone(record.offset - low - columns.length);
      const { timestampMs, headers = [] } = record;
      columns.add({ ...record.raw(), timestampMs, headers });
    }
  });
  for (const [partition, { low, end }] of bounds[topic].entries()) {
    there[partition]!.addGone(end - low - there[partition]!.length);
  }
  return there;
}

/** What a load would publish: all of it, or as many records as the partitions hold. */
async function readWanted(source: LoadSource, topic: TopicName, upTo: readonly Bounds[] | null) {
  const wanted = source.there[topic].map(() => new RecordColumns());
  await loadSequence(source, topic, (record) => {
    const columns = wanted[record.partition]!;
    const bounds = upTo?.[record.partition];
    if (!bounds || columns.length < bounds.end - bounds.low) columns.add(record);
    return undefined;
  });
  return wanted;
}

/**
 * Whether what a partition has from index `from` on is the beginning of what a load publishes: each record in its
 * place, except for those that compaction may have removed, because their key has a later record there or because they
 * are tombstones.
 */
function isBeginning(there: RecordColumns, from: number, wanted: RecordColumns): boolean {
  const count = there.length - from;
  return count <= wanted.length && fits(there, from, wanted, count);
}

/** Whether the `count` records from index `from` on can be the first ones that a load publishes. */
function fits(there: RecordColumns, from: number, wanted: RecordColumns, count: number): boolean {
  const later = new LargeSet<number>();
  for (let i = from + count; i < there.length; i++) later.add(there.keys[i]!);
  for (let i = count - 1; i >= 0; i--) {
    const record = there.records[from + i]!;
    if (record !== RecordColumns.gone && record !== wanted.records[i]) return false;
    if (record === RecordColumns.gone && !later.has(wanted.keys[i]!) && !wanted.tombstones[i]) return false;
    later.add(wanted.keys[i]!);
  }
  return true;
}

/** What a partition holds of a load: how many of its first records, and whether records of others follow them. */
interface Loaded {
  count: number;
  isFollowed: boolean;
}

/** Finds a load's first records anywhere in a partition. Those at its end count before those that others follow. */
function loadedAnywhere(there: RecordColumns, wanted: RecordColumns): Loaded {
  const atEnd = loadedAtEnd(there, wanted);
  if (atEnd > 0) return { count: atEnd, isFollowed: false };
  let found: Loaded = { count: 0, isFollowed: false };
  for (const from of possibleBeginnings(there, wanted)) {
    const count = loadedFrom(there, from, wanted);
    const isFollowed = from + count < there.length;
    if (count === wanted.length || (count > 0 && !isFollowed)) return { count, isFollowed };
    if (count > found.count) found = { count, isFollowed };
  }
  return found;
}

/** Where a load may have begun: each of its records that the partition has says one index. */
function possibleBeginnings(there: RecordColumns, wanted: RecordColumns): Set<number> {
  const indexes = new LargeMap<number, number>();
  for (const [index, record] of wanted.records.entries()) if (!indexes.has(record)) indexes.set(record, index);
  const beginnings = new Set<number>();
  for (const [index, record] of there.records.entries()) {
    const inLoad = record === RecordColumns.gone ? undefined : indexes.get(record);
    if (inLoad !== undefined && inLoad <= index) beginnings.add(index - inLoad);
  }
  return beginnings;
}

/** How many of a load's first records the partition has from index `from` on. Compaction may have removed the last. */
function loadedFrom(there: RecordColumns, from: number, wanted: RecordColumns): number {
  let [withGone, count] = [0, 0];
  for (; withGone < wanted.length && from + withGone < there.length; withGone++) {
    const record = there.records[from + withGone]!;
    if (record === RecordColumns.gone) continue;
    if (record !== wanted.records[withGone]) break;
    count = withGone + 1;
  }
  if (count === 0) return 0;
  if (fits(there, from, wanted, withGone)) return withGone;
  return fits(there, from, wanted, count) ? count : 0;
}

/**
 * How many records at a partition's end are the beginning of what a load publishes: the largest possible number, 0 if
 * its last record is none of them.
 */
function loadedAtEnd(there: RecordColumns, wanted: RecordColumns): number {
  const last = there.records.at(-1);
  if (last === undefined || last === RecordColumns.gone) return 0;
  for (let count = Math.min(there.length, wanted.length); count > 0; count--) {
    if (wanted.records[count - 1] === last && isBeginning(there, there.length - count, wanted)) return count;
  }
  return 0;
}

/** How many keys have a record in the partition that is newer than their last record that would follow it. */
function newerKeys(there: RecordColumns, wanted: RecordColumns, from: number): number {
  const lastTimes = new LargeMap<number, number>();
  for (let i = from; i < wanted.length; i++) lastTimes.set(wanted.keys[i]!, wanted.times[i]!);
  const newer = new LargeSet<number>();
  let count = 0;
  for (let i = 0; i < there.length; i++) {
    const key = there.keys[i]!;
    if (there.records[i] === RecordColumns.gone) continue;
    const lastTime = lastTimes.get(key);
    if (lastTime === undefined || there.times[i]! <= lastTime || newer.has(key)) continue;
    newer.add(key);
    count++;
  }
  return count;
}
