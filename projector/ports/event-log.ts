import type { TopicReader } from '../../schemas/avro/topic-reader.ts';
import type { AnyRecord, TopicName } from '../../schemas/events/records.ts';

/**
 * The event log as the projector needs it: Kafka or an archive (infra/), held to one contract suite
 * (test/contracts/event-log.ts).
 */

/** One header of a record. A record may have several of one name; their order counts. */
export interface RecordHeader {
  readonly key: string;
  readonly value: Buffer | null;
}

/** A record that could be decoded. Whether it makes sense (key against value, zones, days…) the projector judges. */
export interface LogRecord {
  topic: TopicName;
  partition: number;
  offset: number;
  /** Milliseconds since the epoch. */
  timestampMs: number;
  key: string;
  /** null: a tombstone, the entity is gone. */
  value: AnyRecord | null;
  /** All headers, in their order; absent: none. Good until the batch is done, as `rawValue` is. */
  readonly headers?: readonly RecordHeader[];
  /**
   * The value's bytes as they came, where `value` does not hold all that they say: a writer's schema with more fields
   * than ours. Absent or null: `value` is all.
   */
  readonly rawValue?: Buffer | null;
  /**
   * The record as it came, for setting it aside. An archive keeps a value's bytes only where `value` does not hold all of
   * them (`rawValue`), and else encodes it again.
   */
  raw(): RawRecord;
}

/**
 * An answer or a relation as it came, with a key and a value. There are millions: whoever folds them decodes only those
 * that it can't read in place. A log may deliver them as LogRecord all the same.
 */
export interface EncodedRecord {
  readonly topic: 'attendance' | 'relations';
  readonly partition: number;
  readonly offset: number;
  readonly timestampMs: number;
  readonly keyBytes: Buffer;
  readonly valueBytes: Buffer;
  /** By the value's header; its `place` is there. */
  readonly reader: TopicReader;
  decode(): LogRecord | UndecodableRecord;
  raw(): RawRecord;
}

/** A record that could not be decoded: no key, a key that is not UTF-8, bytes that are no Avro of ours… */
export interface UndecodableRecord {
  topic: TopicName;
  partition: number;
  offset: number;
  timestampMs: number;
  /** A short reason without any of the record's content, such as `unknown schema id 17`. */
  undecodable: string;
  /** All headers, in their order; absent: none. */
  readonly headers?: readonly RecordHeader[];
  raw(): RawRecord;
}

export type AnyLogRecord = LogRecord | EncodedRecord | UndecodableRecord;

/** The record decoded, for whoever does not read it in place. */
export const decoded = (record: AnyLogRecord): LogRecord | UndecodableRecord =>
  'decode' in record ? record.decode() : record;

export interface RawRecord {
  key: Buffer | null;
  value: Buffer | null;
  headers: Record<string, Buffer>;
}

/** A bad record, as it goes to `rejected`. */
export interface Reject {
  topic: TopicName;
  partition: number;
  offset: number;
  timestampMs: number;
  /** One of a small fixed set of words per check, used as a metric label too; never the record's content. */
  reason: string;
  raw: RawRecord;
}

/** Next offset to read, per partition of each topic: `position.nights[2]`. */
export type Position = Record<TopicName, number[]>;

/** One partition's bounds when they were sampled: records at offsets `low <= o < end` (some may be missing). */
export interface Bounds {
  low: number;
  end: number;
}
export type LogBounds = Record<TopicName, Bounds[]>;

export interface LogBatch {
  topic: TopicName;
  partition: number;
  /** In offset order; offsets may skip numbers. May be empty when only the position moves. */
  records: AnyLogRecord[];
  /** The offset to read next: never a count, since compaction and transactions skip numbers. */
  nextOffset: number;
}

export interface Follower {
  /** Called for one batch at a time, over all partitions; the next batch waits for the promise. */
  onBatch(batch: LogBatch): Promise<void>;
  /** A partition waits for something outside the log (a schema registry that is away), or no longer does. */
  onWaiting?(topic: TopicName, partition: number, waiting: boolean): void;
}

export interface EventLog {
  /**
   * Every partition's bounds, sampled now. Throws MissingTopicsError where topics are absent; waits, with back-off
   * and a message through the log, for a broker that is away.
   */
  bounds(): Promise<LogBounds>;
  /**
   * Says which log this is, where its number of partitions must not change between two starts either: another text once
   * a topic was deleted and made again. Absent: nothing is compared.
   */
  identity?(): Promise<string>;
  /**
   * Delivers every record from `from` on, each partition in order and without gaps, and goes on for ever as the log
   * grows. Resolves once `signal` aborts and the batch in hand is done. Rejects with a fault that can't be recovered
   * from: PartitionsChangedError, LogTruncatedError, LateRecordsError.
   */
  follow(from: Position, follower: Follower, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/** Where bad records go. A reject already published (same topic, partition, offset and timestamp) is not published again. */
export interface RejectSink {
  /** Resolves once every one is acknowledged (durable), to how many were not there before. */
  publish(rejects: Reject[]): Promise<number>;
  close(): Promise<void>;
}

/** Topics that do not exist. The message says how to make them. */
export class MissingTopicsError extends Error {
  override name = 'MissingTopicsError';
}

/** The number of partitions is no longer what it was: keys live in two places and order is gone. */
export class PartitionsChangedError extends Error {
  override name = 'PartitionsChangedError';
}

/** Records between our position and the log's first offset are gone unread: fold again from the start. */
export class LogTruncatedError extends Error {
  override name = 'LogTruncatedError';
}

/** Records have come before some that are read already: fold again from the start. */
export class LateRecordsError extends Error {
  override name = 'LateRecordsError';
}
