import { listArchive } from '../../infra/archive/format/archive-files.ts';
import { archiveRejected } from '../../infra/archive/format/archive-rejects.ts';
import { archiveBounds } from '../../infra/archive/log/archive-bounds.ts';
import { placeOf } from '../../infra/reject-places.ts';
import { LargeMap } from '../../projector/facts/large-map.ts';
import { followToEnds } from '../../projector/intake/follow-to-ends.ts';
import { decoded } from '../../projector/ports/decoded-record.ts';
import type { EncodedRecord, EventLog, LogBounds, Reject } from '../../projector/ports/event-log.ts';
import type { LogPublisher, PublishedRecord } from '../../projector/ports/log-publisher.ts';
import { positionOf } from '../../projector/position/position.ts';
import { encodeValue } from '../../schemas/avro/codec.ts';
import { clampedMs, type Long } from '../../schemas/events/instants.ts';
import { type TopicName, topicNames } from '../../schemas/events/records.ts';
import { UsageError } from '../cli/io.ts';
import type { Part } from '../cli/progress.ts';
import { eachOfTopic } from '../past/log/past-fold.ts';
import { type PastSources, sourcesOf } from '../past/log/past-records.ts';

export interface LoadTarget {
  publisher: LogPublisher;
  /** The same log, to read what it holds. */
  log: EventLog;
}

export interface LoadOptions {
  /** Brings topics that may hold records to the archive's facts. */
  append: boolean;
  signal: AbortSignal;
  /** How far it is, in offsets. Some offsets may have no record. */
  onProgress?: (part: Part) => void;
  log?: { warn(message: string): void };
}

export interface LoadResult {
  records: number;
  /** With `append`: keys whose last record in the topics is newer than the archive's, or as old (`same`). */
  newer: number;
  same: number;
  /** Bad records that came with them, and were not there before. */
  rejected: number;
  /** Values of which only what our schema holds was published. */
  cut: number;
  /** Records whose timestamp lies in the future, or before the year 1: they got the present, or that year. */
  retimed: number;
}

/** How many records are published at once, and how many bad ones. */
const recordsMax = 5_000;
const rejectsMax = 500;

/**
 * Publishes an archive, as it is now, to a log (docs/rules.md#archive-load). Into empty topics it publishes all records
 * in order. With `append` it publishes the last record of each key, unless the topic's last one is newer or as old. A
 * topic's partitions are merged by time, and each key goes where Kafka's own producer puts it. Headers are kept, and so
 * are timestamps, but for those in the future. The log assigns offsets.
 *
 * Bad records go to the log's `rejected`. Those that are in the archive's topics too are published there only: the
 * projector sets them aside again, at their new offsets.
 *
 * Throws UsageError, before anything is published, if the topics hold records and `append` is not given.
 */
export async function archiveLoad(
  { dir, prefix }: { dir: string; prefix: string },
  target: LoadTarget,
  options: LoadOptions,
): Promise<LoadResult> {
  const { append, log } = options;
  const listing = listArchive(dir, prefix, 'archive load');
  const bounds = await archiveBounds({ dir, prefix, listing }, (message) => log?.warn(message));
  const there = await target.log.bounds();
  if (!append) checkEmpty(there);
  const sources = sourcesOf({ listing, bounds }, 'timestamp');
  const loading = new Loading(sources, sizeOf(bounds), there, target, options);
  for (const reject of archiveRejected({ dir, prefix })) loading.bad.set(placeOf(reject), reject);
  for (const topic of topicNames) await loading.topic(topic);
  await loading.rejected();
  return loading.result;
}

function checkEmpty(there: LogBounds): void {
  const topic = topicNames.find((one) => there[one].some(({ low, end }) => low !== end));
  if (topic === undefined) return;
  throw new UsageError(
    `Cannot load the archive: ${topic} holds records; load into empty topics, for example of a new KAFKA_TOPIC_PREFIX, or bring the topics to the archive's facts with --append, also after a load that was stopped`,
  );
}

class Loading {
  readonly result: LoadResult = { records: 0, newer: 0, same: 0, rejected: 0, cut: 0, retimed: 0 };
  /** Bad records that are not published with the topics, by place and timestamp, each once. */
  readonly bad = new Map<string, Reject>();
  readonly #sources: PastSources;
  readonly #there: LogBounds;
  readonly #target: LoadTarget;
  readonly #options: LoadOptions;
  readonly #total: number;
  #done = 0;
  #batch: PublishedRecord[] = [];
  #publishing: Promise<void> = Promise.resolve();

  constructor(sources: PastSources, size: number, there: LogBounds, target: LoadTarget, options: LoadOptions) {
    this.#sources = sources;
    this.#there = there;
    this.#target = target;
    this.#options = options;
    // With `append` the topics are read, and the archive twice.
    this.#total = options.append ? 2 * size + sizeOf(there) : size;
    this.#report();
  }

  async topic(topic: TopicName): Promise<void> {
    const isWanted = this.#options.append ? await this.#wanted(topic) : () => true;
    await this.#each(topic, (record) => {
      return isWanted(record) ? this.#add(topic, record) : undefined;
    });
    await this.#publish(topic);
    await this.#publishing;
    this.#report();
  }

  async rejected(): Promise<void> {
    const rejects = [...this.bad.values()];
    for (let i = 0; i < rejects.length; i += rejectsMax) {
      this.result.rejected += await this.#target.publisher.rejects.publish(rejects.slice(i, i + rejectsMax));
    }
  }

  /** Gives the archive's records of a topic in the order of the load: its partitions merged by time. */
  #each(topic: TopicName, onRecord: (record: EncodedRecord) => Promise<void> | undefined): Promise<void> {
    return eachOfTopic(this.#sources, topic, this.#options.signal, ({ encoded }) => {
      this.#done++;
      return onRecord(encoded!);
    });
  }

  /** Returns whether the topic needs a record. Ask once for each record, in the order of the load. */
  async #wanted(topic: TopicName): Promise<(record: EncodedRecord) => boolean> {
    const times = await this.#timesThere(topic);
    /** The index of each key's last record, in the order of the load. */
    const last = new LargeMap<string, number>();
    let count = 0;
    await this.#each(topic, ({ keyBytes }) => {
      last.set(String(keyBytes), count++);
      return undefined;
    });
    let at = 0;
    return ({ keyBytes, timestampMs }) => {
      const key = String(keyBytes);
      if (last.get(key) !== at++) return false;
      const time = times.get(key);
      if (time === undefined) return true;
      // A time in the future says nothing.
      const own = timestampMs > Date.now() ? Number.NEGATIVE_INFINITY : clampedMs(timestampMs);
      if (time > own) this.result.newer++;
      if (time === own) this.result.same++;
      return time < own;
    };
  }

  /** The timestamp of each key's last record in the topic. */
  async #timesThere(topic: TopicName): Promise<LargeMap<string, number>> {
    const times = new LargeMap<string, number>();
    const from = positionOf(this.#there, 'end');
    from[topic] = this.#there[topic].map(({ low }) => low);
    await followToEnds(this.#target.log, from, this.#there, this.#options.signal, (batch) => {
      for (const { keyBytes, timestampMs } of batch.records)
        if (keyBytes) times.set(String(keyBytes), clampedMs(timestampMs));
      this.#done += batch.records.length;
      this.#report();
    });
    return times;
  }

  /** Returns a promise if the next record must wait. */
  #add(topic: TopicName, record: EncodedRecord): Promise<void> | undefined {
    if (this.bad.size > 0) this.bad.delete(placeOf(record));
    if (holdsMore(record)) this.result.cut++;
    const loaded = loadedRecord(record);
    if (loaded.timestampMs !== record.timestampMs) this.result.retimed++;
    return this.#batch.push(loaded) < recordsMax ? undefined : this.#publish(topic);
  }

  /** Waits for the batch before. The next batch is read and encoded while one is in flight. */
  async #publish(topic: TopicName): Promise<void> {
    const batch = this.#batch;
    this.#batch = [];
    await this.#publishing;
    this.#options.signal.throwIfAborted();
    if (batch.length === 0) return;
    this.#publishing = this.#target.publisher.publish(topic, batch).then(() => {
      this.result.records += batch.length;
      this.#report();
    });
    // Its error is thrown by the code that awaits it.
    this.#publishing.catch(() => undefined);
  }

  #report(): void {
    this.#options.onProgress?.({ done: Math.min(this.#done, this.#total), total: this.#total });
  }
}

const sizeOf = (bounds: LogBounds): number =>
  topicNames.flatMap((topic) => bounds[topic]).reduce((sum, { low, end }) => sum + end - low, 0);

/** No time in the future: Kafka would refuse it, or compact nothing behind it (docs/rules.md#timestamps). */
const loadedMs = (timestampMs: Long): number => Math.min(clampedMs(timestampMs), Date.now());

/** A record as a load publishes it. Its key decides the partition. */
function loadedRecord(record: EncodedRecord): PublishedRecord {
  const { keyBytes: key, timestampMs, headers = [] } = record;
  return { key, value: ourValue(record), timestampMs: loadedMs(timestampMs), headers };
}

/** Whether a value came with more fields than our schema has. These are not loaded (docs/rules.md#raw-values). */
const holdsMore = ({ rawValue }: EncodedRecord): boolean => (rawValue ?? null) !== null;

/** A value in our schema. A value that cannot be decoded stays as it came. */
function ourValue(record: EncodedRecord): Buffer | null {
  // An archive encodes a value by our schema, unless it holds it as it came.
  if (!holdsMore(record)) return record.raw().value;
  const one = decoded(record);
  if ('undecodable' in one) return record.raw().value;
  return one.value && encodeValue(record.topic, one.value as never);
}
