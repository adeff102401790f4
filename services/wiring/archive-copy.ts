import { archiveEventLog } from '../../infra/archive/archive-event-log.ts';
import { archiveRejectSink } from '../../infra/archive/archive-reject-sink.ts';
import { archiveRejected } from '../../infra/archive/archive-rejected.ts';
import { type ArchiveWriter, archiveWriter } from '../../infra/archive/archive-writer.ts';
import { placeOf, type RejectPlace } from '../../infra/reject-places.ts';
import {
  decoded,
  type EventLog,
  type LogBatch,
  type LogBounds,
  type Position,
  type Reject,
  type RejectSink,
} from '../../projector/ports/event-log.ts';
import type { LogPublisher, PublishedRecord } from '../../projector/ports/log-publisher.ts';
import { topicNames } from '../../schemas/events/records.ts';

/** How far a copy is, in offsets: some numbers may have no record. */
export interface CopyProgress {
  done: number;
  total: number;
}

export interface CopyResult {
  records: number;
  /** Bad records that came with them. */
  rejected: number;
}

export interface CopyOptions {
  signal: AbortSignal;
  onProgress?: (progress: CopyProgress) => void;
  log?: { warn(message: string): void };
}

/** A copy that would mix with what is there, or lose something. The message names the fix. */
export class ArchiveCopyError extends Error {
  override name = 'ArchiveCopyError';
}

/**
 * Saves a log, up to its ends as they are now, as an archive: partitions, offsets and timestamps are kept. `rejected`
 * are the log's bad records so far; records that can't be decoded join them, each once. An archive that holds an earlier
 * part of the same log is gone on with. Throws the signal's reason.
 */
export async function archiveSave(
  log: EventLog,
  rejected: AsyncIterable<Reject> | Iterable<Reject>,
  dir: string,
  options: CopyOptions,
): Promise<CopyResult> {
  const bounds = await log.bounds();
  const writer = archiveWriter({ dir, codec: 'deflate' });
  const rejects = archiveRejectSink({ dir, ...(options.log && { log: options.log }) });
  const result: CopyResult = { records: 0, rejected: 0 };
  const bad = new BadRecords();
  try {
    const from = beginPartitions(writer, bounds);
    await followToEnds(log, from, bounds, options, (batch) => saveBatch(batch, bounds, writer, rejects, result, bad));
    for await (const reject of rejected) {
      await rejects.publish([reject]);
      bad.add(reject);
    }
    result.rejected = bad.size;
  } finally {
    await writer.close();
    await rejects.close();
  }
  return result;
}

/** Makes every partition, also the empty ones, and answers where the archive ends in each. */
function beginPartitions(writer: ArchiveWriter, bounds: LogBounds): Position {
  const from: Partial<Position> = {};
  for (const topic of topicNames) {
    from[topic] = bounds[topic].map(({ low, end }, partition) => {
      writer.addPartition(topic, partition, low);
      const next = writer.nextOffset(topic, partition);
      if (next === null) return low;
      if (next >= low && next <= end) return next;
      throw new ArchiveCopyError(
        `Cannot save to the archive: its ${topic}/${partition} goes on to offset ${next - 1}, the log holds ${low} to ${end - 1}; it is no archive of this log, or too old to go on with: save to an empty folder`,
      );
    });
  }
  return from as Position;
}

async function saveBatch(
  batch: LogBatch,
  bounds: LogBounds,
  writer: ArchiveWriter,
  rejects: RejectSink,
  result: CopyResult,
  places: BadRecords,
): Promise<void> {
  const { topic, partition, records } = batch;
  const { end } = bounds[topic][partition]!;
  const bad: Reject[] = [];
  for (const one of records) {
    if (one.offset >= end) break;
    const record = decoded(one);
    result.records++;
    if ('undecodable' in record) {
      const { offset, timestampMs, undecodable } = record;
      bad.push({ topic, partition, offset, timestampMs, reason: undecodable, raw: record.raw() });
    } else writer.append(topic, record);
  }
  for (const reject of bad) places.add(reject);
  await rejects.publish(bad);
}

/** Bad records by where they stood and when, each once. */
class BadRecords {
  readonly #byPlace = new Map<string, Reject>();

  add(reject: Reject): void {
    this.#byPlace.set(placeOf(reject), reject);
  }

  delete(place: RejectPlace): void {
    this.#byPlace.delete(placeOf(place));
  }

  get size(): number {
    return this.#byPlace.size;
  }

  all(): Iterable<Reject> {
    return this.#byPlace.values();
  }
}

/** What a log must be able to do for an archive to be loaded into it. */
export interface LoadTarget {
  publisher: LogPublisher;
  /** The target topics' partitions as they are. */
  bounds: LogBounds;
  /** Also into topics that hold records already. */
  append: boolean;
}

/**
 * Publishes an archive's records, up to its ends as they are now: partitions, order and timestamps are kept, offsets are
 * the log's own. Bad records go to the log's bad records, but for those that its topics hold too: the projector that
 * folds them sets them aside, at their new offsets. Throws ArchiveCopyError before anything is published where a
 * topic has fewer partitions, or holds records.
 */
export async function archiveLoad(dir: string, target: LoadTarget, options: CopyOptions): Promise<CopyResult> {
  const log = archiveEventLog({ dir, ...(options.log && { log: options.log }) });
  const result: CopyResult = { records: 0, rejected: 0 };
  try {
    const bounds = await log.bounds();
    checkTarget(bounds, target);
    const from = Object.fromEntries(
      topicNames.map((topic) => [topic, bounds[topic].map(({ low }) => low)]),
    ) as Position;
    const bad = new BadRecords();
    for (const reject of archiveRejected({ dir })) bad.add(reject);
    await followToEnds(log, from, bounds, options, async ({ topic, partition, records }) => {
      const { end } = bounds[topic][partition]!;
      const wanted = records.filter(({ offset }) => offset < end);
      await target.publisher.publish(
        topic,
        wanted.map((record): PublishedRecord => ({ partition, timestampMs: record.timestampMs, ...record.raw() })),
      );
      result.records += wanted.length;
      if (bad.size > 0) for (const record of wanted) bad.delete(record);
    });
    for (const rejects of chunks(bad.all())) {
      await target.publisher.publishRejected(rejects);
      result.rejected += rejects.length;
    }
  } finally {
    await log.close();
  }
  return result;
}

function* chunks<T>(items: Iterable<T>): Generator<T[]> {
  const chunk: T[] = [];
  for (const item of items) if (chunk.push(item) === 500) yield chunk.splice(0);
  if (chunk.length > 0) yield chunk;
}

function checkTarget(archive: LogBounds, { bounds, append }: LoadTarget): void {
  for (const topic of topicNames) {
    const [has, needs] = [bounds[topic].length, archive[topic].length];
    if (has < needs) {
      throw new ArchiveCopyError(
        `Cannot load the archive: ${topic} has ${has} partitions in the log and ${needs} in the archive; make the topic with ${needs}`,
      );
    }
    if (!append && bounds[topic].some(({ low, end }) => end > low)) {
      throw new ArchiveCopyError(
        `Cannot load the archive: ${topic} holds records already; load into empty topics, or add to them with --append`,
      );
    }
  }
}

/** Follows a log from a position until every partition has come to its end as given. */
async function followToEnds(
  log: EventLog,
  from: Position,
  ends: LogBounds,
  { signal, onProgress }: CopyOptions,
  onBatch: (batch: LogBatch) => Promise<void>,
): Promise<void> {
  const position = structuredClone(from);
  const remaining = () =>
    topicNames.reduce(
      (sum, topic) => sum + ends[topic].reduce((left, { end }, i) => left + Math.max(0, end - position[topic][i]!), 0),
      0,
    );
  const total = remaining();
  onProgress?.({ done: 0, total });
  if (total === 0) return;
  const arrived = new AbortController();
  const follower = {
    onBatch: async (batch: LogBatch) => {
      await onBatch(batch);
      position[batch.topic][batch.partition] = batch.nextOffset;
      const left = remaining();
      onProgress?.({ done: total - left, total });
      if (left === 0) arrived.abort();
    },
  };
  await log.follow(from, follower, AbortSignal.any([signal, arrived.signal]));
  signal.throwIfAborted();
}
