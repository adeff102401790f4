import { placeOf, type RejectPlace } from '../../../infra/reject-places.ts';
import type { EventLog, LogBatch, LogBounds, Position, Reject } from '../../../projector/ports/event-log.ts';
import { topicNames } from '../../../schemas/events/records.ts';

/** The progress of a copy, in offsets. Some offsets may have no record. */
export interface CopyProgress {
  done: number;
  total: number;
}

export interface CopyResult {
  records: number;
  /** Bad records that came with them, and were not there before. */
  rejected: number;
}

export interface CopyOptions {
  signal: AbortSignal;
  onProgress?: (progress: CopyProgress) => void;
  log?: { warn(message: string): void };
}

/** A copy that would mix with existing records, or lose some. The message names the fix. */
export class ArchiveCopyError extends Error {
  override name = 'ArchiveCopyError';
}

/** Bad records by place and timestamp, each once. */
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

/** Follows a log from a position until every partition has reached its given end. */
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
