import { expect, test } from 'vitest';
import { sourcesOf } from '../../../../infra/archive/log/partition-cursor.ts';
import { RecordsInTime } from '../../../../infra/archive/log/records-in-time.ts';
import { archivedRider, TestArchive } from '../../../support/worlds/archive.ts';
import { pastLog } from '../../../support/worlds/past-archive.ts';

test('a tombstone has no `changed_at`: it counts from its timestamp', async () => {
  await using archive = await TestArchive.make(1);
  await archive.append('riders', 0, [{ ...archivedRider(0), value: null, timestampMs: 5 }]);
  const { signal } = new AbortController();
  const records = await RecordsInTime.open(sourcesOf(await pastLog(archive), 'changed_at'), signal);
  const times: number[] = [];
  for (const untilMs of [4, 5]) await records.each(untilMs, signal, ({ timeMs }) => void times.push(untilMs, timeMs));
  expect(times).toEqual([5, 5]);
});

// docs/rules.md#last-record-wins
test('records out of the order of times come where they belong, and of one time in the order of their offsets', async () => {
  await using archive = await TestArchive.make(1);
  const times = [9, 5, 5, 5, 7];
  const riders = times.map((timestampMs, offset) => ({ ...archivedRider(offset), timestampMs }));
  await archive.append('riders', 0, riders);
  const { signal } = new AbortController();
  const records = await RecordsInTime.open(sourcesOf(await pastLog(archive), 'timestamp'), signal);
  const offsets: number[] = [];
  await records.each(9, signal, ({ encoded }) => void offsets.push(encoded!.offset));
  expect(offsets).toEqual([1, 2, 3, 4, 0]);
});
