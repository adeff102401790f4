import { expect, test } from 'vitest';
import { sourcesOf } from '../../../../infra/archive/log/partition-cursor.ts';
import { RecordsInTime } from '../../../../infra/archive/log/records-in-time.ts';
import { archivedRider, TestArchive } from '../../../support/worlds/archive.ts';
import { pastLog } from '../../../support/worlds/past-archive.ts';

test('a tombstone has no `changed_at`: it counts from its timestamp, from the end of the year 9999 at the latest', async () => {
  await using archive = await TestArchive.make(1);
  const riders = [5, 2n ** 62n].map((timestampMs, i) => ({ ...archivedRider(i), value: null, timestampMs }));
  await archive.append('riders', 0, riders);
  const { signal } = new AbortController();
  const records = await RecordsInTime.open(sourcesOf(await pastLog(archive), 'changed_at'), signal);
  const times: number[] = [];
  const endMs = Date.UTC(9999, 11, 31, 23, 59, 59, 999);
  for (const untilMs of [4, 5, endMs]) await records.each(untilMs, signal, ({ timeMs }) => void times.push(timeMs));
  expect(times).toEqual([5, 5, endMs]);
});

// docs/rules.md#last-record-wins
test('records out of the order of times come where they belong, and of one time in the order of their offsets', async () => {
  await using archive = await TestArchive.make(1);
  // Those beyond the year 9999 are of one time.
  const times = [9, 5, 5, 5, 7, 2n ** 62n, 2n ** 61n];
  const riders = times.map((timestampMs, offset) => ({ ...archivedRider(offset), timestampMs }));
  await archive.append('riders', 0, riders);
  const { signal } = new AbortController();
  const records = await RecordsInTime.open(sourcesOf(await pastLog(archive), 'timestamp'), signal);
  const offsets: number[] = [];
  await records.each(Number.POSITIVE_INFINITY, signal, ({ encoded }) => void offsets.push(encoded!.offset));
  expect(offsets).toEqual([1, 2, 3, 4, 0, 5, 6]);
});
