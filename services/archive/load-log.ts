import { listArchive } from '../../infra/archive/format/archive-files.ts';
import { archiveRejected } from '../../infra/archive/format/archive-rejects.ts';
import { archiveBounds } from '../../infra/archive/log/archive-bounds.ts';
import { type ArchiveSources, type PartitionCursor, sourcesOf } from '../../infra/archive/log/partition-cursor.ts';
import { eachOfTopic, type RecordInTime, RecordsInTime, timedRecord } from '../../infra/archive/log/records-in-time.ts';
import { placeOf } from '../../infra/reject-places.ts';
import { followToEnds } from '../../projector/intake/follow-to-ends.ts';
import { decoded } from '../../projector/ports/decoded-record.ts';
import type { EncodedRecord, EventLog, LogBounds, Reject } from '../../projector/ports/event-log.ts';
import type { LogPublisher, PublishedRecord } from '../../projector/ports/log-publisher.ts';
import { positionOf } from '../../projector/position/position.ts';
import { encodeValue } from '../../schemas/avro/codec.ts';
import { clampedMs } from '../../schemas/events/instants.ts';
import { type TopicName, topicNames } from '../../schemas/events/records.ts';
import { UsageError } from '../cli/io.ts';
import type { Part } from '../cli/progress.ts';
import { AppendChoice } from './append-choice.ts';
import { type LoadPartitions, loadPartitions, type PlacingOptions, TiedKeys } from './load-partitions.ts';

export interface LoadTarget {
  publisher: LogPublisher;
  /** The same log, to read what it holds. */
  log: EventLog;
}

export interface LoadOptions extends PlacingOptions {
  /** Brings topics that may hold records to the archive's facts. */
  append: boolean;
  /** How far it is, in offsets. Some offsets may have no record. */
  onProgress?: (part: Part) => void;
  log?: { warn(message: string): void };
}

export interface LoadResult {
  records: number;
  /** With `append`: keys whose last record in the topics is newer than the archive's, and how many have one as old. */
  newer: string[];
  same: number;
  /** With `repartition`: keys whose last two records have one time. */
  tied: string[];
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
 * topic's partitions are merged by time; load-partitions.ts decides where each record goes. Headers are kept, and so are
 * timestamps, but for those in the future. The log assigns offsets.
 *
 * Bad records go to the log's `rejected`. Those that are in the archive's topics too are published there only: the
 * projector sets them aside again, at their new offsets.
 *
 * Throws UsageError, before anything is published, if the topics hold records and `append` is not given, or if it is not
 * known where records go.
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
  const filled = topicNames.find((topic) => there[topic].some(({ low, end }) => low !== end));
  if (!append && filled !== undefined)
    throw new UsageError(
      `Cannot load the archive: ${filled} holds records; load into empty topics, for example of a new KAFKA_TOPIC_PREFIX, or bring the topics to what the archive says with --append, also after a load that was stopped`,
    );
  const sources = sourcesOf({ listing, bounds }, 'timestamp');
  const partitions = await loadPartitions(sources, target.log, options);
  const loading = new Loading({ sources, there, partitions, target, options }, sizeOf(bounds));
  for (const reject of archiveRejected({ dir, prefix })) loading.bad.set(placeOf(reject), reject);
  for (const topic of topicNames) await loading.topic(topic);
  await loading.rejected();
  return loading.result;
}

/** Visits records, each with its time. Waits where a visit returns a promise. */
type Records = (onRecord: (record: EncodedRecord, timeMs: number) => Promise<void> | undefined) => Promise<void>;

interface LoadingParts {
  sources: ArchiveSources;
  there: LogBounds;
  partitions: LoadPartitions;
  target: LoadTarget;
  options: LoadOptions;
}

class Loading {
  readonly result: LoadResult = { records: 0, newer: [], same: 0, tied: [], rejected: 0, cut: 0, retimed: 0 };
  /** Bad records that are not published with the topics, by place and timestamp, each once. */
  readonly bad = new Map<string, Reject>();
  readonly #parts: LoadingParts;
  readonly #total: number;
  #done = 0;
  #batch: PublishedRecord[] = [];
  #publishing: Promise<void> = Promise.resolve();

  constructor(parts: LoadingParts, size: number) {
    this.#parts = parts;
    // With `append` the topics are read, and the archive twice.
    this.#total = parts.options.append ? 2 * size + sizeOf(parts.there) : size;
    this.#report();
  }

  async topic(topic: TopicName): Promise<void> {
    const records = await this.#recordsOf(topic);
    const choice = this.#parts.options.append ? await this.#choice(topic, records) : null;
    const ties = new TiedKeys();
    await records((record, timeMs) => {
      if (this.#parts.options.repartition) ties.take(record, timeMs);
      return !choice || choice.needs(record) ? this.#add(topic, record) : undefined;
    });
    await this.#publish(topic);
    await this.#publishing;
    const { newer, tied } = this.result;
    this.result.newer = newer.concat(choice?.newer ?? []);
    this.result.same += choice?.same ?? 0;
    this.result.tied = tied.concat(ties.names);
    this.#report();
  }

  async rejected(): Promise<void> {
    const rejects = [...this.bad.values()];
    for (let i = 0; i < rejects.length; i += rejectsMax) {
      this.result.rejected += await this.#parts.target.publisher.rejects.publish(rejects.slice(i, i + rejectsMax));
    }
  }

  /** A topic's records in the order of the load: partitions merged by time; with `repartition` all by their times. */
  async #recordsOf(topic: TopicName): Promise<Records> {
    const { signal, repartition } = this.#parts.options;
    const partitions = this.#parts.sources.partitions.filter((source) => source.topic === topic);
    const sources = { ...this.#parts.sources, partitions };
    const inTime = repartition ? await RecordsInTime.open(sources, signal, keptRecord) : null;
    return (onRecord) => {
      const visit = ({ encoded, timeMs }: RecordInTime) => {
        this.#done++;
        return onRecord(encoded as EncodedRecord, timeMs);
      };
      return inTime ? inTime.each(Number.POSITIVE_INFINITY, signal, visit) : eachOfTopic(sources, topic, signal, visit);
    };
  }

  /** Which records the topic needs. */
  async #choice(topic: TopicName, records: Records): Promise<AppendChoice> {
    const choice = new AppendChoice(this.#parts.partitions.kept.has(topic), Date.now());
    const from = positionOf(this.#parts.there, 'end');
    from[topic] = this.#parts.there[topic].map(({ low }) => low);
    await followToEnds(this.#parts.target.log, from, this.#parts.there, this.#parts.options.signal, (batch) => {
      for (const record of batch.records) choice.topicHolds(record);
      this.#done += batch.records.length;
      this.#report();
    });
    await records((record) => void choice.archiveHolds(record, ourValue));
    return choice;
  }

  /** Returns a promise if the next record must wait. */
  #add(topic: TopicName, record: EncodedRecord): Promise<void> | undefined {
    if (this.bad.size > 0) this.bad.delete(placeOf(record));
    if (holdsMore(record)) this.result.cut++;
    const { kept, partitionOf } = this.#parts.partitions;
    const partition = kept.has(topic) ? record.partition : partitionOf(topic, record.keyBytes!);
    const { keyBytes: key, headers = [] } = record;
    // No time in the future: Kafka would refuse it, or compact nothing behind it (docs/rules.md#timestamps).
    const timestampMs = Math.min(clampedMs(record.timestampMs), Date.now());
    if (timestampMs !== record.timestampMs) this.result.retimed++;
    const loaded = { partition, key, value: ourValue(record), timestampMs, headers };
    return this.#batch.push(loaded) < recordsMax ? undefined : this.#publish(topic);
  }

  /** Waits for the batch before. The next batch is read and encoded while one is in flight. */
  async #publish(topic: TopicName): Promise<void> {
    const batch = this.#batch;
    this.#batch = [];
    await this.#publishing;
    this.#parts.options.signal.throwIfAborted();
    if (batch.length === 0) return;
    this.#publishing = this.#parts.target.publisher.publish(topic, batch).then(() => {
      this.result.records += batch.length;
      this.#report();
    });
    // Its error is thrown by the code that awaits it.
    this.#publishing.catch(() => undefined);
  }

  #report(): void {
    this.#parts.options.onProgress?.({ done: Math.min(this.#done, this.#total), total: this.#total });
  }
}

const sizeOf = (bounds: LogBounds): number =>
  topicNames.flatMap((topic) => bounds[topic]).reduce((sum, { low, end }) => sum + end - low, 0);

/** A record out of order, with copies of all that a load publishes of it. */
function keptRecord(cursor: PartitionCursor): RecordInTime {
  const { headers = [], rawValue = null } = cursor.encoded!;
  const { value } = cursor.encoded!.raw();
  const raw = { key: null, value: value && Buffer.from(value), headers: {} };
  const kept = timedRecord(cursor);
  const own = headers.map((one) => ({ ...one, value: one.value && Buffer.from(one.value) }));
  const encoded = { ...kept.encoded, headers: own, rawValue: rawValue && raw.value, raw: () => raw };
  return { ...kept, encoded };
}

/** Whether a value came with more fields than our schema has. These are not loaded (docs/rules.md#raw-values). */
const holdsMore = ({ rawValue }: EncodedRecord): boolean => (rawValue ?? null) !== null;

/** A value in our schema. A value that cannot be decoded stays as it came. */
function ourValue(record: EncodedRecord): Buffer | null {
  // An archive encodes a value by our schema, unless it holds it as it came.
  if (!holdsMore(record)) return record.raw().value;
  const one = decoded(record);
  if ('undecodable' in one) return record.raw().value;
  return one.value && encodeValue(record.topic, one.value);
}
