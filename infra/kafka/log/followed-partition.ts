import { LogTruncatedError } from '../../../projector/ports/event-log.ts';
import { machineUpMs, realClock } from '../../../projector/running/clock.ts';
import { clampedMs } from '../../../schemas/events/instants.ts';
import type { LoggedBackOff } from '../client/logged-back-off.ts';
import { errorText, isUnauthorized, MissingKafkaRightError } from '../protocol/broker-refusal.ts';
import type { FetchedPartition } from '../protocol/fetch-api.ts';
import type { RecordBatch } from '../protocol/record-batch.ts';

// Most transactions end within moments, and are not worth reporting.
const heldBackDelayMs = 2_000;

interface StartingPoint {
  readonly topic: string;
  readonly topicId: string;
  readonly partition: number;
  /** The next offset to fetch. */
  offset: number;
}

/** A partition that is followed: how far it is fetched, and what is fetched but not handled yet. */
export interface FollowedPartition extends StartingPoint {
  /** The leader's node id. -1 if there is none. */
  leader: number;
  leaderEpoch: number;
  /** The epoch of the batch before `offset`; -1 while none was read. */
  lastEpoch: number;
  fetched: Fetched[];
  /** Its handler waits for something. Nothing is fetched or handled meanwhile. */
  waiting: boolean;
  /** It cannot be read now. It is not fetched until its back-off is over. */
  paused: boolean;
  /** Since its last failure. Null: it was read since. */
  backOff: LoggedBackOff | null;
  /** The offset after its last record, by the latest answer. */
  end: number;
  /** How far a `read_committed` consumer gets: where the first open transaction begins, else `end`. */
  stableEnd: number;
  /** When it was last fetched to its end, by `Clock.nowMs`. */
  caughtUpMs: number;
  /** The same by a clock that goes on while the machine sleeps. */
  caughtUpAtUpMs: number;
  /** Since when an open transaction has held it back, or null. */
  heldBackSinceMs: number | null;
  /** Whether that has lasted long enough to report it. */
  heldBack: boolean;
}

/** Batches as they were fetched. Their records are unpacked when they are handled. */
interface Fetched {
  batches: RecordBatch[];
  /** The first offset that is not handled yet. */
  from: number;
  nextOffset: number;
  sinceMs: number;
}

/** One instant by three clocks (Clock, machineUpMs): ages are told by those that are not stepped, but for the times that records have. */
type Instant = Record<'nowMs' | 'wallMs' | 'upMs', number>;

export const instant = (): Instant => ({ nowMs: realClock.nowMs(), wallMs: realClock.wallMs(), upMs: machineUpMs() });

export function followedPartition(from: StartingPoint, { nowMs, upMs }: Instant): FollowedPartition {
  const caughtUp = { caughtUpMs: nowMs, caughtUpAtUpMs: upMs };
  const unread = { leader: -1, leaderEpoch: -1, lastEpoch: -1, end: 0, stableEnd: 0, ...caughtUp };
  const free = { waiting: false, paused: false, backOff: null, heldBackSinceMs: null, heldBack: false };
  return { ...from, ...unread, ...free, fetched: [] };
}

/** Queues what was fetched; whether there was any. Throws LogTruncatedError if it was unread for over half of `retentionMs`. */
export function advance(
  partition: FollowedPartition,
  found: FetchedPartition,
  { nowMs, wallMs, upMs }: Instant,
  retentionMs = Number.POSITIVE_INFINITY,
): boolean {
  const moved = found.nextOffset > partition.offset;
  partition.end = found.highWatermark;
  partition.stableEnd = found.lastStableOffset;
  if (moved) {
    // Half: reading on to the end takes time too.
    const awayMsMax = retentionMs / 2;
    if (upMs - partition.caughtUpAtUpMs > awayMsMax) throw awayTooLong(partition, awayMsMax);
    partition.offset = found.nextOffset;
    partition.lastEpoch = found.lastEpoch;
    const { batches, offset, nextOffset } = found;
    // A producer's time may lie ahead.
    const ageMs = Math.max(0, wallMs - clampedMs(batches[0]?.timestampMs ?? 0));
    const sinceMs = Math.max(partition.caughtUpMs, nowMs - ageMs);
    partition.fetched.push({ batches, from: offset, nextOffset, sinceMs });
  }
  if (partition.offset >= found.lastStableOffset) {
    partition.caughtUpMs = nowMs;
    partition.caughtUpAtUpMs = upMs;
  }
  return moved;
}

/** Notes whether an open transaction hides the following records. Returns whether `heldBack` has changed. */
export function noteHeldBack(partition: FollowedPartition, found: FetchedPartition, { nowMs }: Instant): boolean {
  const isHidden = partition.offset >= found.lastStableOffset && found.lastStableOffset < found.highWatermark;
  partition.heldBackSinceMs = isHidden ? (partition.heldBackSinceMs ?? nowMs) : null;
  const before = partition.heldBack;
  partition.heldBack = partition.heldBackSinceMs !== null && nowMs - partition.heldBackSinceMs >= heldBackDelayMs;
  return partition.heldBack !== before;
}

/** The error for one of Kafka's error codes of a partition. */
export const errorOf = ({ topic }: FollowedPartition, code: number): Error =>
  isUnauthorized(code)
    ? new MissingKafkaRightError(`Read on topic ${topic}`)
    : new Error(`it answers with ${errorText(code)}`);

export const diverged = ({ topic, partition, offset }: FollowedPartition): LogTruncatedError =>
  new LogTruncatedError(
    `Cannot go on at ${topic}/${partition}@${offset}: Kafka lost records that were read, and has others in their place (an unclean leader election, or a restored broker); start again, to read the log from its start`,
  );

export function truncated({ topic, partition, offset }: FollowedPartition): LogTruncatedError {
  return new LogTruncatedError(
    `Cannot read ${topic}/${partition}@${offset}: Kafka no longer has this offset (records were deleted, or a broker lost them); start again, to read the log from its start`,
  );
}

function awayTooLong({ topic, partition, offset }: FollowedPartition, awayMsMax: number): LogTruncatedError {
  const hours = Math.round(awayMsMax / 360_000) / 10;
  return new LogTruncatedError(
    `Cannot go on at ${topic}/${partition}@${offset}: it went unread for more than ${hours} hours, half of delete.retention.ms, so tombstones may be gone; start again, to read the log from its start`,
  );
}
