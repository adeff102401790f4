import { listArchive } from '../../infra/archive/format/archive-files.ts';
import { archiveRejected } from '../../infra/archive/format/archive-rejects.ts';
import { archiveBounds } from '../../infra/archive/log/archive-bounds.ts';
import { type PartitionCursor, sourcesOf } from '../../infra/archive/log/partition-cursor.ts';
import { eachOfTopic, type RecordInTime, RecordsInTime, timedRecord } from '../../infra/archive/log/records-in-time.ts';
import { placeOf } from '../../infra/reject-places.ts';
import { followToEnds } from '../../projector/intake/follow-to-ends.ts';
import { decoded } from '../../projector/ports/decoded-record.ts';
import type { EncodedRecord, EventLog, LogBounds } from '../../projector/ports/event-log.ts';
import type { LogPublisher, PublishedRecord } from '../../projector/ports/log-publisher.ts';
import { positionOf } from '../../projector/position/position.ts';
import { encodeValue } from '../../schemas/avro/codec.ts';
import { clampedMs } from '../../schemas/events/instants.ts';
import { type TopicName, topicNames } from '../../schemas/events/records.ts';
import { UsageError } from '../cli/io.ts';
import type { Part } from '../cli/progress.ts';
import { AppendChoice } from './append-choice.ts';
import { loadPartitions, type PlacingOptions, TiedKeys } from './load-partitions.ts';

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
  const { append, repartition, signal, log } = options;
  const listing = listArchive(dir, prefix, 'archive load');
  const bounds = await archiveBounds({ dir, prefix, listing }, (message) => log?.warn(message));
  const there = await target.log.bounds();
  const filled = topicNames.find((topic) => there[topic].some(({ low, end }) => low !== end));
  if (!append && filled !== undefined)
    throw new UsageError(
      `Cannot load the archive: ${filled} holds records; load into empty topics, for example of a new KAFKA_TOPIC_PREFIX, or bring the topics to what the archive says with --append, also after a load that was stopped`,
    );
  const sources = sourcesOf({ listing, bounds }, 'timestamp');
  const { kept, partitionOf } = await loadPartitions(sources, target.log, options);
  const result: LoadResult = { records: 0, newer: [], same: 0, tied: [], rejected: 0, cut: 0, retimed: 0 };
  /** Bad records that are not published with the topics, by place and timestamp, each once. */
  const bad = new Map([...archiveRejected({ dir, prefix })].map((reject) => [placeOf(reject), reject]));
  // With `append` the topics are read, and the archive twice.
  const total = append ? 2 * sizeOf(bounds) + sizeOf(there) : sizeOf(bounds);
  let done = 0;
  let batch: PublishedRecord[] = [];
  let publishing: Promise<void> = Promise.resolve();
  const report = (): void => options.onProgress?.({ done: Math.min(done, total), total });

  async function loadTopic(topic: TopicName): Promise<void> {
    const records = await recordsOf(topic);
    const choice = append ? await choose(topic, records) : null;
    const ties = new TiedKeys();
    await records((record, timeMs) => {
      if (repartition) ties.take(record, timeMs);
      return !choice || choice.needs(record) ? add(topic, record) : undefined;
    });
    await publish(topic);
    await publishing;
    result.newer = result.newer.concat(choice?.newer ?? []);
    result.same += choice?.same ?? 0;
    result.tied = result.tied.concat(ties.names);
    report();
  }

  /** A topic's records in the order of the load: partitions merged by time; with `repartition` all by their times. */
  async function recordsOf(topic: TopicName): Promise<Records> {
    const ofTopic = { ...sources, partitions: sources.partitions.filter((source) => source.topic === topic) };
    const inTime = repartition ? await RecordsInTime.open(ofTopic, signal, keptRecord) : null;
    return (onRecord) => {
      const visit = ({ encoded, timeMs }: RecordInTime) => {
        done++;
        return onRecord(encoded as EncodedRecord, timeMs);
      };
      return inTime ? inTime.each(Number.POSITIVE_INFINITY, signal, visit) : eachOfTopic(ofTopic, topic, signal, visit);
    };
  }

  /** Which records the topic needs. */
  async function choose(topic: TopicName, records: Records): Promise<AppendChoice> {
    const choice = new AppendChoice(kept.has(topic), Date.now());
    const from = positionOf(there, 'end');
    from[topic] = there[topic].map(({ low }) => low);
    await followToEnds(target.log, from, there, signal, ({ records: some }) => {
      for (const record of some) choice.topicHolds(record);
      done += some.length;
      report();
    });
    await records((record) => void choice.archiveHolds(record, ourValue));
    return choice;
  }

  /** Returns a promise if the next record must wait. */
  function add(topic: TopicName, record: EncodedRecord): Promise<void> | undefined {
    if (bad.size > 0) bad.delete(placeOf(record));
    if (holdsMore(record)) result.cut++;
    const partition = kept.has(topic) ? record.partition : partitionOf(topic, record.keyBytes!);
    const { keyBytes: key, headers = [] } = record;
    // No time in the future: Kafka would refuse it, or compact nothing behind it (docs/rules.md#timestamps).
    const timestampMs = Math.min(clampedMs(record.timestampMs), Date.now());
    if (timestampMs !== record.timestampMs) result.retimed++;
    const loaded = { partition, key, value: ourValue(record), timestampMs, headers };
    return batch.push(loaded) < recordsMax ? undefined : publish(topic);
  }

  /** Waits for the batch before. The next batch is read and encoded while one is in flight. */
  async function publish(topic: TopicName): Promise<void> {
    const full = batch;
    batch = [];
    await publishing;
    signal.throwIfAborted();
    if (full.length === 0) return;
    publishing = target.publisher.publish(topic, full).then(() => {
      result.records += full.length;
      report();
    });
    // Its error is thrown by the code that awaits it.
    publishing.catch(() => undefined);
  }

  report();
  for (const topic of topicNames) await loadTopic(topic);
  const rejects = [...bad.values()];
  for (let i = 0; i < rejects.length; i += rejectsMax)
    result.rejected += await target.publisher.rejects.publish(rejects.slice(i, i + rejectsMax));
  return result;
}

/** Visits records, each with its time. Waits where a visit returns a promise. */
type Records = (onRecord: (record: EncodedRecord, timeMs: number) => Promise<void> | undefined) => Promise<void>;

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
