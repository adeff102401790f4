import { expect, test } from 'vitest';
import { byTopic } from '../../../schemas/events/records.ts';
import { TestArchive } from '../../support/worlds/archive.ts';
import { archiveOf, emptyLog, load, publishedRider, startMs } from '../../support/worlds/archive-load.ts';
import { rejectAt, rider } from '../../support/worlds/records.ts';

const reject = (offset: number, timestampMs = 3) => rejectAt(offset, { topic: 'riders', partition: 0, timestampMs });

// docs/rules.md#archive-load

test('archive load merges partitions by time, and keeps each one’s order', async () => {
  await using archive = await archiveOf(Object.entries({ a: 1, b: 9, c: 4 }), Object.entries({ d: 2, a: 5, e: 6 }));
  const log = emptyLog(1);
  // Whatever its producers' partitioner is, they go to the one partition.
  await load(archive.dir, log, { partitioners: byTopic(() => 'other') });
  const keys = log.all('riders').map(({ key }) => key);
  expect(keys.join('')).toBe('adaebc');
});

// docs/rules.md#raw-values
test('archive load keeps headers, in their order, and publishes of a value that came with more fields what our schema holds', async () => {
  await using archive = await TestArchive.make(1);
  const headers = [
    { key: '2', value: Buffer.from('x') },
    { key: '1', value: null },
    { key: '2', value: Buffer.from('') },
  ];
  await archive.append('riders', 0, [
    { ...rider('a'), rawValue: Buffer.from('as it came') },
    { ...rider('b'), headers },
  ]);
  const log = emptyLog(1);
  expect(await load(archive.dir, log)).toMatchObject({ records: 2, cut: 1 });
  expect(log.all('riders')).toMatchObject([publishedRider('a'), { ...publishedRider('b'), headers }]);
});

test('archive load publishes the archive’s bad records as such, once; one that the topics hold too is left to the projector', async () => {
  await using archive = await TestArchive.make(1);
  await archive.append('riders', 0, [rider('a'), rider('b')]);
  const { timestampMs } = rider('b');
  // One stood there before the topic was made anew: it is another.
  const others = [reject(2), reject(0), ...Array.from({ length: 1_100 }, (_, i) => reject(i + 3))];
  archive.reject([reject(1, timestampMs), ...others]);
  const log = emptyLog(1);
  expect(await load(archive.dir, log)).toMatchObject({ records: 2, rejected: others.length });
  expect(log.rejected).toEqual(others);
  for (const rejected of [1, 0])
    expect(await load(archive.dir, log, { append: true })).toMatchObject({ records: 0, rejected });
});

// docs/rules.md#timestamps
test('archive load publishes what lies in the future with the present time, and counts it; --append takes it for older than any', async () => {
  const nanoseconds = 1_700_000_000_000_000_000n;
  await using archive = await archiveOf([['b', 5]]);
  const future = [nanoseconds, 2n ** 63n - 1n, Date.now() + 60_000, -(2n ** 63n)];
  const records = future.map((timestampMs) => ({ ...rider('a'), timestampMs }));
  await archive.append('riders', 0, records);
  const log = emptyLog(1);
  const fromMs = Date.now();
  expect(await load(archive.dir, log)).toMatchObject({ records: 5, retimed: 4 });
  const times = log.all('riders').map(({ timestampMs }) => timestampMs);
  expect(times.filter((ms) => ms >= fromMs && ms <= Date.now())).toHaveLength(3);
  expect(times.map((ms) => new Date(ms).toISOString())).toContain('0001-01-01T00:00:00.000Z');
  const later = ['b', 'c'].map((key) => ({ ...rider(key), timestampMs: nanoseconds }));
  await archive.append('riders', 0, later);
  const appended = { records: 1, newer: [], same: 2, retimed: 1 };
  expect(await load(archive.dir, log, { append: true })).toMatchObject(appended);
  expect(String(log.all('riders').at(-1)!.key)).toBe('c');
  await log.publish('riders', [gone('b')]);
  expect(await load(archive.dir, log, { append: true })).toMatchObject({ newer: ['riders/b'], same: 2 });
});

test('archive load refuses topics that hold records, and publishes nothing', async () => {
  await using archive = await archiveOf([['a', 5]]);
  const log = emptyLog(1);
  await log.publish('nights', [{ key: 'x', value: null, timestampMs: 1 }]);
  await expect(load(archive.dir, log)).rejects.toThrow(
    'Cannot load the archive: nights holds records; load into empty topics, for example of a new KAFKA_TOPIC_PREFIX, or bring the topics to what the archive says with --append',
  );
  expect(log.all('riders')).toEqual([]);
});

const gone = (key: string, timestampMs = startMs) => ({ key: Buffer.from(key), value: null, timestampMs });

test('archive load --append publishes the last record of each key that the topics hold none of, or an older one; and counts the others', async () => {
  const before = { new: 1, 'newer there': 5, 'same there': 1, 'older there': 2 };
  const after = { new: 7, 'same there': 6, 'deleted there': 7, 'other, as old there': 8 };
  await using archive = await archiveOf([...Object.entries(before), ...Object.entries(after)]);
  await archive.append('riders', 0, [{ ...rider('gone'), value: null }]);
  const log = emptyLog(1);
  const held = [
    publishedRider('newer there', startMs + 6),
    gone('deleted there', startMs + 8),
    gone('other, as old there', startMs + 8),
    publishedRider('same there', startMs + 6),
    publishedRider('older there', startMs + 9),
    // The last record counts, though it is older than the one before.
    publishedRider('older there', startMs + 1),
    publishedRider('theirs', startMs + 99),
    publishedRider('gone', startMs - 1),
  ];
  await log.publish('riders', held);
  const newer = ['riders/newer there', 'riders/deleted there'];
  expect(await load(archive.dir, log, { append: true })).toMatchObject({ records: 3, newer, same: 2 });
  expect(log.all('riders').slice(held.length)).toMatchObject([
    publishedRider('older there', startMs + 2),
    publishedRider('new', startMs + 7),
    gone('gone'),
  ]);
  expect(await load(archive.dir, log, { append: true })).toMatchObject({ records: 0, newer, same: 5 });
});

test('archive load --append publishes bad records of the archive that its topics do not bring', async () => {
  await using archive = await TestArchive.make(1);
  await archive.appendUndecodable('rides', 0, 'r1');
  const log = emptyLog(1);
  expect(await load(archive.dir, log, { append: true })).toMatchObject({ records: 1, rejected: 0 });
  expect(log.all('rides')[0]!.value!.subarray(0, 2)).toEqual(Buffer.from([0xc3, 1]));
});
