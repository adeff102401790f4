import { archiveEventLog } from '../../infra/archive/archive-event-log.ts';
import { archiveRejected } from '../../infra/archive/archive-rejected.ts';
import { placeOf, type RejectPlace } from '../../infra/reject-places.ts';
import type { EventLog, LogBatch, LogBounds, Position, Reject } from '../../projector/ports/event-log.ts';
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

/** Bad records by where they stood and when, each once. */
export class BadRecords {
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
export async function archiveLoad(
  archive: { dir: string; prefix?: string },
  target: LoadTarget,
  options: CopyOptions,
): Promise<CopyResult> {
  const log = archiveEventLog({ ...archive, named: 'archive load', ...(options.log && { log: options.log }) });
  const result: CopyResult = { records: 0, rejected: 0 };
  try {
    const bounds = await log.bounds();
    checkTarget(bounds, target);
    const from = Object.fromEntries(
      topicNames.map((topic) => [topic, bounds[topic].map(({ low }) => low)]),
    ) as Position;
    const bad = new BadRecords();
    for (const reject of archiveRejected(archive)) bad.add(reject);
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
export async function followToEnds(
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
