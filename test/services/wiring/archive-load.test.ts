import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { archiveRejectSink } from '../../../infra/archive/archive-reject-sink.ts';
import { archiveWriter } from '../../../infra/archive/archive-writer.ts';
import type { LogRecord, Reject } from '../../../projector/ports/event-log.ts';
import type { PublishedRecord } from '../../../projector/ports/log-publisher.ts';
import { decodeValue, encodeValue } from '../../../schemas/avro/codec.ts';
import { WriterSchemas } from '../../../schemas/avro/writer-schemas.ts';
import { murmur2Partition } from '../../../schemas/events/partitioner.ts';
import { type TopicName, topicNames } from '../../../schemas/events/records.ts';
import { archiveLoad, type LoadOptions } from '../../../services/wiring/archive-load.ts';
import { portlandDir, readArchive, TestArchive } from '../../support/archive.ts';
import { KeptLog } from '../../support/kept-log.ts';
import { sampleRecords } from '../../support/records.ts';

const signal = new AbortController().signal;
const load = (dir: string, log: KeptLog, options: Partial<LoadOptions> = {}) =>
  archiveLoad(
    { dir },
    { publisher: log, log, register: null },
    { signal, append: false, keepPartitions: false, ...options },
  );

const startMs = 1_700_000_000_000;
const rider = (key: string, timestampMs = startMs) => ({
  key,
  value: { ...sampleRecords.riders, rider: key, revision: timestampMs },
  timestampMs,
});
const published = (key: string, timestampMs = startMs): PublishedRecord => ({
  key: Buffer.from(key),
  value: encodeValue('riders', rider(key, timestampMs).value as never),
  timestampMs,
});
const reject = (offset: number, timestampMs = 3): Reject => ({
  topic: 'riders',
  partition: 0,
  offset,
  timestampMs,
  reason: 'no key',
  raw: { key: null, value: Buffer.from('x'), headers: { h: Buffer.from('y') } },
});

const writers = new WriterSchemas();
const read = (topic: TopicName, { key, value, timestampMs }: PublishedRecord) => ({
  key: String(key),
  value: value && (decodeValue(topic, value, writers) as { value: unknown }).value,
  timestampMs,
});
const content = ({ key, value, timestampMs }: LogRecord) => ({ key, value, timestampMs });
const keysOf = (records: readonly (PublishedRecord | null)[]) => records.map((record) => String(record?.key));

/** An archive of riders: of each partition keys and times, in order. */
async function archiveOf(...partitions: [string, number][][]): Promise<TestArchive> {
  const archive = await TestArchive.make();
  await archive.createTopics(partitions.length);
  for (const [partition, records] of partitions.entries()) {
    await archive.append(
      'riders',
      partition,
      records.map(([key, time]) => rider(key, startMs + time)),
    );
  }
  return archive;
}

// docs/rules.md#archive-load
describe('archive load', () => {
  test('publishes every record to the partition where murmur2 puts its key, whatever partitions the archive has', async () => {
    const log = new KeptLog(5);
    const { records } = await readArchive(portlandDir);
    expect(await load(portlandDir, log)).toMatchObject({ records: records.length, before: 0, rejected: 0 });
    const order = (one: { key: string; timestampMs: number; value: unknown }) => `${one.key} ${one.timestampMs}`;
    for (const topic of topicNames) {
      const astray = Array.from({ length: 5 }, (_, partition) =>
        log.partition(topic, partition).filter((one) => murmur2Partition(one!.key as Buffer, 5) !== partition),
      );
      expect(astray.flat()).toEqual([]);
      const wanted = (records.filter((one) => one.topic === topic) as LogRecord[]).map(content);
      const all = log.all(topic).map((record) => read(topic, record));
      const sorted = (list: typeof all) => list.toSorted((a, b) => (order(a) < order(b) ? -1 : 1));
      expect(sorted(all)).toEqual(sorted(wanted));
    }
  });

  test('merges partitions by time, keeps each one’s order, and names keys that stood in two', async () => {
    await using archive = await archiveOf(
      [
        ['a', 1],
        ['b', 9],
        ['c', 4],
      ],
      [
        ['d', 2],
        ['a', 5],
        ['a', 6],
      ],
    );
    const log = new KeptLog(1);
    const { splitKeys } = await load(archive.dir, log);
    expect(keysOf(log.partition('riders', 0))).toEqual(['a', 'd', 'a', 'a', 'b', 'c']);
    expect(splitKeys).toEqual([{ topic: 'riders', count: 1, keys: ['a'] }]);
  });

  test('keeps headers, in their order', async () => {
    await using archive = await TestArchive.make();
    await archive.createTopics(1);
    const headers = [
      { key: '2', value: Buffer.from('x') },
      { key: '1', value: null },
      { key: '2', value: Buffer.from('') },
    ];
    const writer = archiveWriter({ dir: archive.dir });
    writer.append('riders', { ...rider('a'), partition: 0, offset: 0, headers });
    await writer.close();
    const log = new KeptLog(2);
    await load(archive.dir, log);
    expect(log.all('riders')[0]!.headers).toEqual(headers);
  });

  test('with --keep-partitions keeps the archive’s numbers, and refuses topics that have more or fewer', async () => {
    const { bounds, records } = await readArchive(portlandDir);
    const log = new KeptLog((topic) => bounds[topic].length);
    await load(portlandDir, log, { keepPartitions: true });
    for (const topic of topicNames) {
      for (const partition of bounds[topic].keys()) {
        const own = (records as LogRecord[]).filter((one) => one.topic === topic && one.partition === partition);
        expect(log.partition(topic, partition).map((one) => read(topic, one!))).toEqual(own.map(content));
      }
    }
    for (const count of [3, 5]) {
      const other = new KeptLog((topic) => (topic === 'attendance' ? count : bounds[topic].length));
      await expect(load(portlandDir, other, { keepPartitions: true })).rejects.toThrow(
        `Cannot load the archive with --keep-partitions: attendance has ${count} partitions in the log and 4 in the archive`,
      );
      expect(other.all('metros')).toEqual([]);
    }
  });

  test('publishes the archive’s bad records as such', async () => {
    await using archive = await TestArchive.make();
    await archive.createTopics(1);
    const sink = archiveRejectSink({ dir: archive.dir });
    const rejects = Array.from({ length: 1_100 }, (_, i) => reject(i));
    await sink.publish(rejects);
    await sink.close();
    const log = new KeptLog(1);
    expect(await load(archive.dir, log)).toMatchObject({ records: 0, rejected: 1_100 });
    expect(log.rejects).toEqual(rejects);
    expect(await load(archive.dir, log)).toMatchObject({ records: 0, rejected: 0 });
  });

  test('leaves a bad record that the topics hold too to the projector, which sets it aside at its new offset', async () => {
    await using archive = await TestArchive.make();
    await archive.createTopics(1);
    await archive.append('riders', 0, [rider('a'), rider('b')]);
    const sink = archiveRejectSink({ dir: archive.dir });
    const { timestampMs } = rider('b');
    // One stood there before the topic was made anew: it is another.
    await sink.publish([reject(1, timestampMs), reject(2), reject(0)]);
    await sink.close();
    const log = new KeptLog(1);
    expect(await load(archive.dir, log)).toMatchObject({ records: 2, rejected: 2 });
    expect(log.rejects).toEqual([reject(2), reject(0)]);
  });

  test('stops at the ends as they were when it began', async () => {
    await using archive = await archiveOf([['a', 1]], [['b', 2]]);
    const log = new KeptLog(1);
    await load(archive.dir, log, { onProgress: growingOnce(archive) });
    expect(keysOf(log.all('riders'))).toEqual(['a', 'b']);
  });

  test('ends with the reason when it is aborted', async () => {
    const abort = new AbortController();
    const log = new KeptLog(4);
    log.publish = async () => {
      abort.abort(new Error('stopped'));
      return new Map();
    };
    await expect(load(portlandDir, log, { signal: abort.signal })).rejects.toThrow('stopped');
  });
});

describe('an archive load that was stopped', () => {
  test('goes on without a duplicate and without loss, wherever it was killed and whatever was compacted since', async () => {
    await using archive = await archiveOf(
      Array.from({ length: 60 }, (_, i): [string, number] => [`k${i % 7}`, i * 3]),
      Array.from({ length: 60 }, (_, i): [string, number] => [`k${(i * 5) % 11}`, i * 2]),
    );
    const whole = new KeptLog(3, 7);
    await load(archive.dir, whole);
    const kills = fc.array(fc.nat(50), { maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(kills, fc.boolean(), async (records, append) => {
        const log = new KeptLog(3, 7);
        for (const count of records) {
          log.dieAfter(count);
          await load(archive.dir, log, { append }).catch((error) => expect(error.message).toBe('killed'));
          log.compact((fromEnd) => fromEnd % 2 === 0);
        }
        log.dieAfter(Number.POSITIVE_INFINITY);
        const { before, records: rest } = await load(archive.dir, log, { append });
        expect(before + rest).toBe(120);
        for (const partition of [0, 1, 2]) {
          const [there, wanted] = [log, whole].map((one) => one.partition('riders', partition));
          expect(there!.length).toBe(wanted!.length);
          expect(there!.map((one, i) => one ?? wanted![i])).toEqual(wanted);
        }
      }),
      { numRuns: 60 },
    );
  });

  test('has nothing left to do where all of it is there', async () => {
    const log = new KeptLog(4);
    const { records } = await load(portlandDir, log);
    expect(await load(portlandDir, log)).toMatchObject({ records: 0, before: records });
  });

  const archived: [string, number][] = Array.from({ length: 20 }, (_, i) => [`k${i}`, i]);

  test.each<[string, (log: KeptLog) => Promise<unknown>]>([
    ['another producer has published behind it', (log) => log.publish('riders', [{ ...published('z'), partition: 0 }])],
    [
      'another producer has published the same key later',
      (log) => log.publish('riders', [published('k0', startMs + 99)]),
    ],
    [
      'another producer has published to a topic that was not begun',
      (log) => log.publish('nights', [{ key: 'x/2026-01-01', value: null, timestampMs: 1, partition: 0 }]),
    ],
  ])('is refused where %s', async (_, meanwhile) => {
    await using archive = await archiveOf(archived);
    const log = new KeptLog(2);
    log.dieAfter(9);
    await expect(load(archive.dir, log)).rejects.toThrow('killed');
    log.dieAfter(Number.POSITIVE_INFINITY);
    await meanwhile(log);
    const before = log.all('riders').length;
    await expect(load(archive.dir, log)).rejects.toThrow(
      /^Cannot load the archive: (riders|nights)\/\d holds records that are not its beginning: another producer has published there/,
    );
    expect(log.all('riders').length).toBe(before);
  });

  test('is refused for another archive, and with --keep-partitions where it was begun without', async () => {
    await using archive = await archiveOf(archived, [['y', 3]]);
    await using other = await archiveOf(archived.slice(1), [['y', 3]]);
    const log = new KeptLog(2);
    log.dieAfter(9);
    await expect(load(archive.dir, log)).rejects.toThrow('killed');
    log.dieAfter(Number.POSITIVE_INFINITY);
    await expect(load(other.dir, log)).rejects.toThrow('not its beginning');
    await expect(load(archive.dir, log, { keepPartitions: true })).rejects.toThrow('not its beginning');
  });

  test('notices a producer that publishes at the same time', async () => {
    await using archive = await archiveOf(Array.from({ length: 12_000 }, (_, i) => [`k${i % 50}`, i]));
    const log = new KeptLog(1);
    const publish = log.publish.bind(log);
    let times = 0;
    log.publish = async (topic, records) => {
      if (++times === 2) await publish('riders', [published('z')]);
      return publish(topic, records);
    };
    await expect(load(archive.dir, log)).rejects.toThrow(
      'Cannot go on loading the archive: riders/0 has gone on to offset 5001, and 5000 was due: another producer',
    );
  });
});

describe('archive load --append', () => {
  test('adds to what others have published, which is refused without it', async () => {
    await using archive = await archiveOf([['a', 5]]);
    const log = new KeptLog(1);
    await log.publish('riders', [published('a', startMs), published('b', startMs + 99)]);
    await expect(load(archive.dir, log)).rejects.toThrow('or add to what is there with --append');
    expect(await load(archive.dir, log, { append: true })).toMatchObject({ records: 1, before: 0 });
    expect(keysOf(log.all('riders'))).toEqual(['a', 'b', 'a']);
    expect(await load(archive.dir, log, { append: true })).toMatchObject({ records: 0, before: 1 });
  });

  test.each([false, true])(
    'loads nothing again where others have published since it was finished (compacted: %s)',
    async (compacted) => {
      await using archive = await archiveOf(Array.from({ length: 20 }, (_, i) => [`k${i % 12}`, i]));
      const log = new KeptLog(2);
      await log.publish('riders', [published('before')]);
      await load(archive.dir, log, { append: true });
      const tombstones = ['n1', 'n2', 'n3', 'n4', 'k3'].map((key) => ({
        ...published(key, startMs + 99),
        value: null,
      }));
      await log.publish('riders', tombstones);
      if (compacted) log.compact(() => false);
      const held = log.all('riders').length;
      expect(await load(archive.dir, log, { append: true })).toMatchObject({ records: 0, before: 20 });
      expect(log.all('riders')).toHaveLength(held);
    },
  );

  test('loads nothing again where compaction has removed the tombstone that it ended with', async () => {
    await using archive = await archiveOf([['a', 1]]);
    await archive.append('riders', 0, [{ key: 'b', value: null, timestampMs: startMs + 2 } as never]);
    const log = new KeptLog(1);
    await load(archive.dir, log, { append: true });
    log.partition('riders', 0)[1] = null;
    expect(await load(archive.dir, log, { append: true })).toMatchObject({ records: 0, before: 2 });
  });

  test('refuses to go on where others have published since it was stopped', async () => {
    await using archive = await archiveOf(Array.from({ length: 20 }, (_, i) => [`k${i}`, i]));
    const log = new KeptLog(1, 7);
    await log.publish('riders', [published('before')]);
    log.dieAfter(9);
    await expect(load(archive.dir, log, { append: true })).rejects.toThrow('killed');
    log.dieAfter(Number.POSITIVE_INFINITY);
    await log.publish('riders', [published('z', startMs + 99)]);
    const held = log.all('riders').length;
    await expect(load(archive.dir, log, { append: true })).rejects.toThrow(
      /^Cannot load the archive: riders\/0 holds the first \d+ of the 20 records of this load, and then others: another/,
    );
    expect(log.all('riders')).toHaveLength(held);
  });

  test('refuses to put a key’s older record behind a newer one', async () => {
    await using archive = await archiveOf([
      ['a', 5],
      ['b', 5],
    ]);
    const log = new KeptLog(1);
    await log.publish('riders', [published('a', startMs + 6)]);
    await expect(load(archive.dir, log, { append: true })).rejects.toThrow(
      'Cannot load the archive: riders/0 holds newer records than the archive of 1 of its keys',
    );
    expect(log.all('riders')).toHaveLength(1);
  });

  test('does not take a record for its own because its beginning may have been compacted', async () => {
    await using archive = await archiveOf([
      ['a', 1],
      ['b', 2],
      ['c', 3],
    ]);
    const log = new KeptLog(1);
    // Two others that are gone by now, and one record that is the archive's third as well.
    await log.publish('riders', [published('c', 0), published('c', 1), published('c', startMs + 3)]);
    log.compact(() => false);
    await load(archive.dir, log, { append: true });
    expect(keysOf(log.all('riders'))).toEqual(['c', 'a', 'b', 'c']);
  });
});

/** A record more in the first partition, as soon as progress is told. */
function growingOnce(archive: TestArchive) {
  let grown = false;
  return () => {
    if (grown) return;
    grown = true;
    const writer = archiveWriter({ dir: archive.dir });
    writer.append('riders', { ...rider('late'), partition: 0, offset: 1 });
    writer.flush();
  };
}
