import { expect, test } from 'vitest';
import { archiveRejectSink } from '../../../infra/archive/format/archive-reject-sink.ts';
import type { Reject } from '../../../projector/ports/event-log.ts';
import { encodeValue } from '../../../schemas/avro/codec.ts';
import { murmur2Partition } from '../../../schemas/events/partitioner.ts';
import { rejectJudge } from '../../../services/operate/rejected-log.ts';
import { resubmit } from '../../../services/operate/rejected-resubmit.ts';
import type { MemoryEventLog } from '../../support/stores/memory-event-log.ts';
import { archiveOf, emptyLog, load, rider, startMs } from '../../support/worlds/archive-load.ts';

const { signal } = new AbortController();
const later = 'its key has had a later record';

/** A rider's record that no version could read, until now. */
const reject = (key: string, partition: number, offset: number, time: number): Reject => ({
  topic: 'riders',
  partition,
  offset,
  timestampMs: startMs + time,
  reason: 'unknown schema fingerprint',
  raw: { key: Buffer.from(key), value: encodeValue('riders', rider(key, startMs + time).value as never), headers: {} },
});

/** An archive's riders, by partition with keys and times, and its bad records, loaded into other partitions. */
async function loaded(partitions: number, rejects: readonly Reject[], ...riders: [string, number][][]) {
  await using archive = await archiveOf(...riders);
  const sink = archiveRejectSink({ dir: archive.dir });
  await sink.publish([...rejects]);
  await sink.close();
  const log = emptyLog(partitions);
  await load(archive.dir, log);
  expect(log.rejected).toHaveLength(rejects.length);
  return log;
}

async function outcomesOf(log: MemoryEventLog, rejects: readonly Reject[], wanted = rejects) {
  const outcomes = await resubmit(rejects, wanted, { log, publisher: log, judge: rejectJudge(null, signal), signal });
  return outcomes.map(({ now, note }) => note ?? now);
}

const partitionOf = (key: string, partitions: number) => murmur2Partition(Buffer.from(key), partitions);

// docs/rules.md#resubmitted-records
test('a bad record that was loaded is not put over a newer record of its key, wherever that stands', async () => {
  // At offset 9 of the log that was saved; in the new one the good record stands at offset 1.
  const rejects = [reject('ada', 0, 9, 50)];
  const log = await loaded(1, rejects, [
    ['bo', 1],
    ['ada', 60],
  ]);
  expect(await outcomesOf(log, rejects)).toEqual([later]);
});

test('a bad record that was loaded into other partitions goes to that of its key, behind an older one', async () => {
  const keys = ['ada', 'bo', 'cy'];
  const rejects = keys.map((key, i) => reject(key, 7, i, 50));
  const log = await loaded(
    3,
    rejects,
    keys.map((key, i): [string, number] => [key, i]),
  );
  const ends = (await log.bounds()).riders.map(({ end }) => end);
  const wanted = keys.map((key) => {
    const partition = partitionOf(key, 3);
    return `riders/${partition}@${ends[partition]!++}`;
  });
  expect((await outcomesOf(log, rejects)).sort()).toEqual(wanted.sort());
  expect(await outcomesOf(log, rejects)).toEqual([later, later, later]);
});

test('of bad records that were loaded the newest of a key alone is published, also where an older one is asked for', async () => {
  const rejects = [reject('ada', 0, 3, 10), reject('ada', 0, 5, 20), reject('ada', 0, 6, 20)];
  const log = await loaded(1, rejects, [['bo', 1]]);
  expect(await outcomesOf(log, rejects, rejects.slice(0, 2))).toEqual([later, later]);
  expect(await outcomesOf(log, rejects)).toEqual([later, later, 'riders/0@1']);
});

test('a bad record of this log goes by its place: one of the same millisecond may stand before it', async () => {
  const log = emptyLog(1);
  const { raw, timestampMs } = reject('ada', 0, 1, 5);
  const record = { partition: 0, key: raw.key, timestampMs };
  await log.publish('riders', [
    { ...record, value: raw.value },
    { ...record, value: Buffer.from('bad') },
  ]);
  expect(await outcomesOf(log, [reject('ada', 0, 1, 5)])).toEqual(['riders/0@2']);
});

test('a bad record that was compacted away is superseded by what stands behind, whatever its timestamp', async () => {
  const log = emptyLog(1);
  const { raw } = reject('ada', 0, 0, 5);
  for (const timestampMs of [startMs + 5, startMs + 4])
    await log.publish('riders', [{ partition: 0, key: raw.key, value: raw.value, timestampMs }]);
  log.compact(() => false);
  expect(await outcomesOf(log, [reject('ada', 0, 0, 5)])).toEqual([later]);
});

test('a bad record that was deleted with all of its key goes to its own partition, wherever murmur2 would put it', async () => {
  const own = (partitionOf('ada', 3) + 1) % 3;
  const log = emptyLog(3, 5);
  expect(await outcomesOf(log, [reject('ada', own, 4, 50)])).toEqual([`riders/${own}@5`]);
  // What stood behind the end was in another log.
  expect(await outcomesOf(log, [reject('bo', own, 9, 50)])).toEqual([`riders/${partitionOf('bo', 3)}@5`]);
});
