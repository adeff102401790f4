import type { TopicName } from '../../schemas/events/records.ts';
import type { RecordHeader, Reject } from './event-log.ts';

/** A record to publish. Without `partition` its key decides, as Kafka's own producers do it. */
export interface PublishedRecord {
  partition?: number;
  key: Buffer | string | null;
  value: Buffer | null;
  /** Milliseconds since the epoch. */
  timestampMs: number;
  headers?: readonly RecordHeader[];
}

/** Where `simulate`, `archive load` and `rejected resubmit` write: Kafka or an archive (infra/). */
export interface LogPublisher {
  /**
   * Resolves once every record is durable, in the order given within each partition: to the offset of the first record
   * in each partition.
   */
  publish(topic: TopicName, records: readonly PublishedRecord[]): Promise<ReadonlyMap<number, number>>;
  /**
   * Bad records as they came; one already there (same topic, partition, offset) is not published again. Resolves to how
   * many were not there before.
   */
  publishRejected(rejects: readonly Reject[]): Promise<number>;
  close(): Promise<void>;
}
