import { describe, expect, test } from 'vitest';
import { archiveRejectSink } from '../../../infra/archive/archive-reject-sink.ts';
import { archiveWriter } from '../../../infra/archive/archive-writer.ts';
import type { Bounds, LogBounds, LogRecord, Reject } from '../../../projector/ports/event-log.ts';
import type { LogPublisher, PublishedRecord } from '../../../projector/ports/log-publisher.ts';
import { decodeValue } from '../../../schemas/avro/codec.ts';
import { WriterSchemas } from '../../../schemas/avro/writer-schemas.ts';
import { type TopicName, topicNames } from '../../../schemas/events/records.ts';
import { archiveLoad } from '../../../services/wiring/archive-copy.ts';
import { portlandDir, readArchive, TestArchive } from '../../support/archive.ts';
import { sampleRecords } from '../../support/records.ts';

const signal = new AbortController().signal;
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

// docs/rules.md#archive-load
describe('archive load', () => {
  test('publishes every record to its partition, in order, with its time', async () => {
    const publisher = new Kept();
    const result = await archiveLoad(
      { dir: portlandDir },
      { publisher, bounds: boundsOf(4), append: false },
      { signal },
    );
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
    const result = await archiveLoad(archive, { publisher, bounds: boundsOf(1), append: false }, { signal });
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
    const result = await archiveLoad(archive, { publisher, bounds: boundsOf(1), append: false }, { signal });
    expect(result).toEqual({ records: 2, rejected: 2 });
    expect(publisher.rejects).toEqual([reject(2), reject(0)]);
  });

  test('stops at the ends as they were when it began', async () => {
    await using archive = await TestArchive.make();
    await archive.createTopics(2);
    for (const partition of [0, 1]) await archive.append('riders', partition, [rider('a')]);
    const publisher = new Kept();
    const target = { publisher, bounds: boundsOf(2), append: false };
    await archiveLoad(archive, target, { signal, onProgress: growingOnce(archive) });
    expect(publisher.records.map(({ partition }) => partition)).toEqual([0, 1]);
  });

  test('refuses a log with fewer partitions, before it publishes anything', async () => {
    const publisher = new Kept();
    await expect(
      archiveLoad({ dir: portlandDir }, { publisher, bounds: boundsOf(3), append: true }, { signal }),
    ).rejects.toThrow('Cannot load the archive: attendance has 3 partitions in the log and 4 in the archive');
    expect(publisher.records).toEqual([]);
  });

  test('refuses a log that holds records, unless it is to add to them', async () => {
    await using archive = await TestArchive.make();
    await archive.createTopics(1);
    await archive.append('riders', 0, [rider('a')]);
    const publisher = new Kept();
    const bounds = { ...boundsOf(1), nights: [{ low: 3, end: 4 }] };
    await expect(archiveLoad(archive, { publisher, bounds, append: false }, { signal })).rejects.toThrow(
      'Cannot load the archive: nights holds records already; load into empty topics, or add to them with --append',
    );
    expect(publisher.records).toEqual([]);
    await archiveLoad(archive, { publisher, bounds, append: true }, { signal });
    expect(publisher.records).toHaveLength(1);
  });

  test('ends with the reason when it is aborted', async () => {
    const abort = new AbortController();
    const publisher = new Kept();
    publisher.publish = async () => abort.abort(new Error('stopped'));
    const target = { publisher, bounds: boundsOf(4), append: false };
    await expect(archiveLoad({ dir: portlandDir }, target, { signal: abort.signal })).rejects.toThrow('stopped');
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
