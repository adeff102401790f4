import type { TopicDecoder } from '../../schemas/avro/topic-decoder.ts';
import type { UndecodableReason } from '../../schemas/avro/undecodable.ts';
import type { Long } from '../../schemas/events/instants.ts';
import type { TopicName } from '../../schemas/events/records.ts';

/**
 * The event log as the projector needs it. Kafka and the archive implement it (infra/), and one contract suite tests
 * both (test/contracts/event-log.ts).
 */

/** A header of a record. A record may have several with the same name. Their order matters. */
export interface RecordHeader {
  readonly key: string;
  readonly value: Buffer | null;
}

/** A record of the log: its bytes, and the decoder for them. The projector checks whether it is good. */
export interface EncodedRecord {
  readonly topic: TopicName;
  readonly partition: number;
  readonly offset: number;
  /** Milliseconds since the epoch, if its producer meant it so: any 64 bits (docs/rules.md#timestamps). */
  readonly timestampMs: Long;
  /** Null if the record has no key. Like all bytes of a record, valid only until the batch is done. */
  readonly keyBytes: Buffer | null;
  /** Null is a tombstone: the entity is gone. */
  readonly valueBytes: Buffer | null;
  /** What decodes the value, by its header, or why there is none. Null if there is no value. */
  readonly decoder: TopicDecoder | UndecodableReason | null;
  /** All headers, in order. Absent if there are none. */
  readonly headers?: readonly RecordHeader[];
  /**
   * The value's bytes as they came, if the decoder leaves out some of them because the writer's schema has more
   * fields than ours. Otherwise absent or null.
   */
  readonly rawValue?: Buffer | null;
  /**
   * The record as it came, to be set aside. An archive has a value's original bytes only if our schema does not hold
   * everything in them (`rawValue`). Otherwise it encodes the value again.
   */
  raw(): RawRecord;
}

export interface RawRecord {
  key: Buffer | null;
  value: Buffer | null;
  headers: Record<string, Buffer>;
}

/** A bad record, as it goes to `rejected`. */
export interface Reject {
  /** Without the prefix. Others can write to `rejected` too, so it may be any text: ask `isTopicName`. */
  topic: string;
  partition: number;
  offset: number;
  timestampMs: Long;
  /** One of a small fixed set of kinds, and after a colon the field and the rule. Never the record's content. */
  reason: string;
  raw: RawRecord;
}

/** The next offset to read, for each partition of each topic, e.g. `position.nights[2]`. */
export type Position = Record<TopicName, number[]>;

/** A partition's bounds when they were sampled: records at offsets `low <= o < end`, some of which may be missing. */
export interface Bounds {
  low: number;
  end: number;
}
export type LogBounds = Record<TopicName, Bounds[]>;

export interface LogBatch {
  topic: TopicName;
  partition: number;
  /** In the order of offsets, which may skip numbers. May be empty if only the position moves. */
  records: EncodedRecord[];
  /** The next offset to read. Not a count, because compaction and transactions skip numbers. */
  nextOffset: number;
  /**
   * Since when the first record has been there unread, as `Clock.nowMs` says it: its own time, or when the partition was
   * last read to its end, whichever is later (a history that is loaded has old times). Absent: just now.
   */
  unreadSinceMs?: number;
}

/** Where a partition stands, as far as is known without asking. */
interface PartitionStatus {
  topic: TopicName;
  partition: number;
  /** One more than the last offset known. */
  end: number;
  /** Since when there are records, or may be some, that are not handed over, by `Clock.nowMs`; null: none. */
  unreadSinceMs: number | null;
  /** What it waits for though the log answers, and since when by `Clock.nowMs`; null: nothing. */
  waits: { for: 'registry' | 'redis' | 'transaction'; sinceMs: number } | null;
}

export interface LogStatus {
  partitions: PartitionStatus[];
  /** Since when the log has not answered or has lacked topics, by `Clock.nowMs`; null: neither. */
  silentSinceMs: number | null;
  /** Which topics it lacks and what to do, in words that everybody may read. Null or absent: none. */
  lacks?: string | null;
}

/** Where a partition is to be held for now, and what resolves once that may be another place. */
export interface Hold {
  /** The next offset not to be delivered yet. */
  offset: number;
  moved: Promise<void>;
}

export interface Follower {
  /** Called with one batch at a time, over all partitions. The next batch waits for the promise. */
  onBatch(batch: LogBatch): Promise<void>;
  /** A partition waits for something outside the log (a schema registry that is away), or no longer waits. */
  onWaiting?(topic: TopicName, partition: number, waiting: boolean): void;
  /** Asked before each batch: records from the offset on are not delivered, and hardly fetched. Null or absent: no hold. */
  hold?(topic: TopicName, partition: number): Hold | null;
}

export interface EventLog {
  /**
   * The bounds of every partition, sampled now. Throws MissingTopicsError if topics are missing. Waits for a broker
   * that is away, with back-off and a log message.
   */
  bounds(): Promise<LogBounds>;
  /**
   * Identifies the log: the text changes if a topic is deleted and recreated. The number of partitions of one log must
   * not change, not even between two starts. If this is absent, nothing is compared.
   */
  identity?(): Promise<string>;
  /** Each topic's cleanup.policy; null where it may not be asked. If this is absent, nothing is ever deleted from the log. */
  policies?(): Promise<Record<TopicName, string> | null>;
  /**
   * Delivers every record from `from` on, each partition in order and without gaps, and goes on as the log grows.
   * Resolves once `signal` aborts and the present batch is done. Rejects with a fault that cannot be recovered from:
   * PartitionsChangedError, LogTruncatedError. May be called while another call goes on: `status` is of the first one alone.
   */
  follow(from: Position, follower: Follower, signal: AbortSignal): Promise<void>;
  /** Whether what it delivered would be judged otherwise now, because a schema that nobody knew is known. Absent: never. */
  judgesAnew?(): Promise<boolean>;
  /** How far the following has got, and what holds it up; null while nobody follows. Absent: it is never held up. */
  status?(): LogStatus | null;
  close(): Promise<void>;
}

/** Where a bad record stood. The timestamp too, because offsets are used again when a topic is made anew. */
export type RejectPlace = Pick<Reject, 'topic' | 'partition' | 'offset' | 'timestampMs'>;

/** Where bad records go. A reject that it holds already (same place) is not published again. */
export interface RejectSink {
  /** Resolves once all of them are acknowledged (durable), to the number that were new. */
  publish(rejects: Reject[]): Promise<number>;
  /** Looks whether it lost none of those that were published through it since this was asked last. */
  holdsAll(): Promise<boolean>;
  close(): Promise<void>;
}

/** Topics that do not exist. The message says how to create them. */
export class MissingTopicsError extends Error {
  override name = 'MissingTopicsError';
}

/** The number of partitions has changed, so a key may be in two partitions and its order is lost (docs/rules.md#partition-growth). */
export class PartitionsChangedError extends Error {
  override name = 'PartitionsChangedError';

  /** With what to do. `what`: which topic had how many partitions, and has. */
  static withAdvice(what: string): PartitionsChangedError {
    return new PartitionsChangedError(
      `${what}. A key may now be in two partitions, and its order is lost: create topics under a new KAFKA_TOPIC_PREFIX, publish every entity there again, then point the service and your ride system at them`,
    );
  }
}

/** What is folded is not what the log gives now. Fold again from the start. */
export class FoldAgainError extends Error {
  override name = 'FoldAgainError';
  readonly retry = false;
}

/** Records between our position and the log's first offset are gone unread. */
export class LogTruncatedError extends FoldAgainError {
  override name = 'LogTruncatedError';
}
