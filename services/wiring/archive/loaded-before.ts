import { DigestMap, RecordColumns } from './record-columns.ts';

/**
 * Whether what a partition has from index `from` on is the beginning of what a load publishes: each record in its
 * place, except for those that compaction may have removed, because their key has a later record there or because they
 * are tombstones.
 */
export function isBeginning(there: RecordColumns, from: number, wanted: RecordColumns): boolean {
  const count = there.length - from;
  return count <= wanted.length && fits(there, from, wanted, count);
}

/** Whether the `count` records from index `from` on can be the first ones that a load publishes. */
function fits(there: RecordColumns, from: number, wanted: RecordColumns, count: number): boolean {
  const later = new DigestMap<true>();
  for (let i = from + count; i < there.length; i++) later.set(there.keys[i]!, true);
  for (let i = count - 1; i >= 0; i--) {
    const record = there.records[from + i]!;
    if (record !== RecordColumns.gone && record !== wanted.records[i]) return false;
    if (record === RecordColumns.gone && !later.has(wanted.keys[i]!) && !wanted.tombstones[i]) return false;
    later.set(wanted.keys[i]!, true);
  }
  return true;
}

/** What a partition holds of a load: how many of its first records, and whether records of others follow them. */
export interface Loaded {
  count: number;
  isFollowed: boolean;
}

/** Finds a load's first records anywhere in a partition. Those at its end count before those that others follow. */
export function loadedAnywhere(there: RecordColumns, wanted: RecordColumns): Loaded {
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
  const indexes = new DigestMap<number>();
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
export function loadedAtEnd(there: RecordColumns, wanted: RecordColumns): number {
  const last = there.records.at(-1);
  if (last === undefined || last === RecordColumns.gone) return 0;
  for (let count = Math.min(there.length, wanted.length); count > 0; count--) {
    if (wanted.records[count - 1] === last && isBeginning(there, there.length - count, wanted)) return count;
  }
  return 0;
}

/** How many keys have a record in the partition that is newer than their last record that would follow it. */
export function newerKeys(there: RecordColumns, wanted: RecordColumns, from: number): number {
  const lastTimes = new DigestMap<number>();
  for (let i = from; i < wanted.length; i++) lastTimes.set(wanted.keys[i]!, wanted.times[i]!);
  const newer = new DigestMap<true>();
  let count = 0;
  for (let i = 0; i < there.length; i++) {
    const key = there.keys[i]!;
    if (there.records[i] === RecordColumns.gone) continue;
    const lastTime = lastTimes.get(key);
    if (lastTime === undefined || there.times[i]! <= lastTime || newer.has(key)) continue;
    newer.set(key, true);
    count++;
  }
  return count;
}
