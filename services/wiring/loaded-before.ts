import { DigestMap, RecordColumns } from './record-columns.ts';

/**
 * Whether what a partition has from index `from` on is the beginning of what a load publishes: each record in its
 * place, except for those that compaction may have removed, because their key has a later record there or because they
 * are tombstones.
 */
export function isBeginning(there: RecordColumns, from: number, wanted: RecordColumns): boolean {
  const count = there.length - from;
  if (count > wanted.length) return false;
  const later = new DigestMap<true>();
  for (let i = count - 1; i >= 0; i--) {
    const record = there.records[from + i]!;
    if (record !== RecordColumns.gone && record !== wanted.records[i]) return false;
    if (record === RecordColumns.gone && !later.has(wanted.keys[i]!) && !wanted.tombstones[i]) return false;
    later.set(wanted.keys[i]!, true);
  }
  return true;
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
