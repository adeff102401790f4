import { describe, expect, test } from 'vitest';
import { archiveEventLog } from '../../../infra/archive/archive-event-log.ts';
import { archiveRejectSink } from '../../../infra/archive/archive-reject-sink.ts';
import { archiveRejected } from '../../../infra/archive/archive-rejected.ts';
import { archiveWriter } from '../../../infra/archive/archive-writer.ts';
import type { Bounds, LogBounds, LogRecord, Reject } from '../../../projector/ports/event-log.ts';
import type { LogPublisher, PublishedRecord } from '../../../projector/ports/log-publisher.ts';
import { decodeValue } from '../../../schemas/avro/codec.ts';
import { WriterSchemas } from '../../../schemas/avro/writer-schemas.ts';
import { type TopicName, topicNames } from '../../../schemas/events/records.ts';
import { archiveLoad, archiveSave, type CopyProgress } from '../../../services/wiring/archive-copy.ts';
import { portlandDir, readArchive, TestArchive } from '../../support/archive.ts';
import { sampleRecords } from '../../support/records.ts';

const signal = new AbortController().signal;
const plain = (records: unknown[]) =>
  (records as LogRecord[])
    .map(({ topic, partition, offset, timestampMs, key, value }) => ({
      topic,
      partition,
      offset,
      timestampMs,
      key,
      value,
    }))
    .sort((a, b) => a.topic.localeCompare(b.topic) || a.partition - b.partition || a.offset - b.offset);

/** Keeps what it is told to publish. */
class Kept implements LogPublisher {
  readonly records: (PublishedRecord & { topic: TopicName })[] = [];
  readonly rejects: Reject[] = [];
  async publish(topic: TopicName, records: readonly PublishedRecord[]): Promise<void> {
    this.records.push(...records.map((record) => ({ topic, ...record })));
  }
  async publishRejected(rejects: readonly Reject[]): Promise<void> {
    this.rejects.push(...rejects);
  }
  async close(): Promise<void> {}
}

const empty: Bounds = { low: 5, end: 5 };
const boundsOf = (partitions: number): LogBounds =>
  Object.fromEntries(topicNames.map((topic) => [topic, Array<Bounds>(partitions).fill(empty)])) as LogBounds;

const rider = (key: string) => ({
  key,
  value: { ...sampleRecords.riders, rider: key },
  timestampMs: 1_700_000_000_000,
});
const reject = (offset: number, timestampMs = 3): Reject => ({
  topic: 'riders',
  partition: 0,
  offset,
  timestampMs,
  reason: 'no key',
  raw: { key: null, value: Buffer.from('x'), headers: { h: Buffer.from('y') } },
});

describe('archive save', () => {
  test('keeps partitions, offsets, timestamps, keys and values', async () => {
    await using archive = await TestArchive.make();
    const source = await readArchive(portlandDir);
    await using log = opened(portlandDir);
    const heard: CopyProgress[] = [];
    const result = await archiveSave(log, [], archive.dir, {
      signal,
      onProgress: (progress) => void heard.push(progress),
    });
    const saved = await archive.read();
    expect(result).toEqual({ records: source.records.length, rejected: 0 });
    expect(saved.bounds).toEqual(source.bounds);
    expect(plain(saved.records)).toEqual(plain(source.records));
    expect(heard[0]).toEqual({ done: 0, total: heard[0]!.total });
    expect(heard.at(-1)).toEqual({ done: heard[0]!.total, total: heard[0]!.total });
  });

  test('sets what can not be decoded aside, and the bad records there are, each once', async () => {
    await using source = await TestArchive.make();
    await using archive = await TestArchive.make();
    await source.createTopics(1);
    await source.append('rides', 0, [{ key: 'a', value: sampleRecords.rides, timestampMs: 1 }]);
    await source.appendUndecodable('rides', 0, 'b');
    await using log = opened(source.dir);
    const known: Reject = { ...reject(1, 5), topic: 'rides' };
    const result = await archiveSave(log, [reject(4), known], archive.dir, { signal });
    expect(result.records).toBe(2);
    const places = [...archiveRejected({ dir: archive.dir })].map(
      ({ topic, offset, reason }) => `${topic}@${offset} ${reason}`,
    );
    expect(places).toEqual(['rides@1 unknown enum symbol', 'riders@4 no key']);
    expect((await archive.read()).records).toHaveLength(1);
  });

  test('stops at the ends as they were when it began', async () => {
    await using source = await TestArchive.make();
    await using archive = await TestArchive.make();
    await source.createTopics(2);
    for (const partition of [0, 1]) await source.append('riders', partition, [rider('a')]);
    await using log = opened(source.dir);
    const result = await archiveSave(log, [], archive.dir, { signal, onProgress: growingOnce(source) });
    expect(result.records).toBe(2);
    expect((await archive.read()).bounds.riders).toEqual([
      { low: 0, end: 1 },
      { low: 0, end: 1 },
    ]);
  });

  test('goes on with an archive of an earlier part of the log, and refuses one of another', async () => {
    await using source = await TestArchive.make();
    await using archive = await TestArchive.make();
    await source.createTopics(2);
    await source.append('riders', 1, [rider('a'), rider('b')]);
    await using log = opened(source.dir);
    await archiveSave(log, [], archive.dir, { signal });
    await source.append('riders', 1, [rider('c')]);
    expect(await archiveSave(log, [], archive.dir, { signal })).toEqual({ records: 1, rejected: 0 });
    expect((await archive.read()).records.map(({ offset }) => offset)).toEqual([0, 1, 2]);

    await using other = await TestArchive.make();
    await other.createTopics(2);
    await other.append('riders', 1, [rider('x')]);
    await using otherLog = opened(other.dir);
    await expect(archiveSave(otherLog, [], archive.dir, { signal })).rejects.toThrow(
      'Cannot save to the archive: its riders/1 goes on to offset 2, the log holds 0 to 0',
    );
  });
});

// docs/rules.md#archive-load
describe('archive load', () => {
  test('publishes every record to its partition, in order, with its time', async () => {
    const publisher = new Kept();
    const result = await archiveLoad(portlandDir, { publisher, bounds: boundsOf(4), append: false }, { signal });
    const { records } = await readArchive(portlandDir);
    expect(result.records).toBe(records.length);
    const writers = new WriterSchemas();
    for (const topic of topicNames) {
      for (let partition = 0; partition < 4; partition++) {
        const own = (one: { topic: TopicName; partition?: number }) =>
          one.topic === topic && one.partition === partition;
        const published = publisher.records.filter(own).map(({ key, value, timestampMs }) => ({
          key: String(key),
          value: value === null ? null : decodeValue(topic, value, writers),
          timestampMs,
        }));
        const wanted = (records.filter(own) as LogRecord[]).map(({ key, value, timestampMs }) => ({
          key,
          value: value === null ? null : { value },
          timestampMs,
        }));
        expect(published).toEqual(wanted);
      }
    }
  });

  test('publishes the archive’s bad records as such', async () => {
    await using archive = await TestArchive.make();
    await archive.createTopics(1);
    const sink = archiveRejectSink({ dir: archive.dir });
    const rejects = Array.from({ length: 1_100 }, (_, i) => reject(i));
    await sink.publish(rejects);
    await sink.close();
    const publisher = new Kept();
    const result = await archiveLoad(archive.dir, { publisher, bounds: boundsOf(1), append: false }, { signal });
    expect(result).toEqual({ records: 0, rejected: 1_100 });
    expect(publisher.rejects).toEqual(rejects);
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
    const publisher = new Kept();
    const result = await archiveLoad(archive.dir, { publisher, bounds: boundsOf(1), append: false }, { signal });
    expect(result).toEqual({ records: 2, rejected: 2 });
    expect(publisher.rejects).toEqual([reject(2), reject(0)]);
  });

  test('stops at the ends as they were when it began', async () => {
    await using archive = await TestArchive.make();
    await archive.createTopics(2);
    for (const partition of [0, 1]) await archive.append('riders', partition, [rider('a')]);
    const publisher = new Kept();
    const target = { publisher, bounds: boundsOf(2), append: false };
    await archiveLoad(archive.dir, target, { signal, onProgress: growingOnce(archive) });
    expect(publisher.records.map(({ partition }) => partition)).toEqual([0, 1]);
  });

  test('refuses a log with fewer partitions, before it publishes anything', async () => {
    const publisher = new Kept();
    await expect(
      archiveLoad(portlandDir, { publisher, bounds: boundsOf(3), append: true }, { signal }),
    ).rejects.toThrow('Cannot load the archive: attendance has 3 partitions in the log and 4 in the archive');
    expect(publisher.records).toEqual([]);
  });

  test('refuses a log that holds records, unless it is to add to them', async () => {
    await using archive = await TestArchive.make();
    await archive.createTopics(1);
    await archive.append('riders', 0, [rider('a')]);
    const publisher = new Kept();
    const bounds = { ...boundsOf(1), nights: [{ low: 3, end: 4 }] };
    await expect(archiveLoad(archive.dir, { publisher, bounds, append: false }, { signal })).rejects.toThrow(
      'Cannot load the archive: nights holds records already; load into empty topics, or add to them with --append',
    );
    expect(publisher.records).toEqual([]);
    await archiveLoad(archive.dir, { publisher, bounds, append: true }, { signal });
    expect(publisher.records).toHaveLength(1);
  });

  test('ends with the reason when it is aborted', async () => {
    const abort = new AbortController();
    const publisher = new Kept();
    publisher.publish = async () => abort.abort(new Error('stopped'));
    const target = { publisher, bounds: boundsOf(4), append: false };
    await expect(archiveLoad(portlandDir, target, { signal: abort.signal })).rejects.toThrow('stopped');
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

function opened(dir: string) {
  const log = archiveEventLog({ dir });
  return Object.assign(log, { [Symbol.asyncDispose]: () => log.close() });
}
