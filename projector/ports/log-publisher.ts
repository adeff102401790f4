import type { TopicName } from '../../schemas/events/records.ts';
import type { RecordHeader, RejectSink } from './event-log.ts';

/** A record to publish. Without `partition` the key decides, as in Kafka's own producers. */
export interface PublishedRecord {
  partition?: number;
  key: Buffer | string | null;
  value: Buffer | null;
  /** Milliseconds since the epoch. */
  timestampMs: number;
  headers?: readonly RecordHeader[];
}

/** Where `simulate` and `archive load` write: Kafka or an archive (infra/). */
export interface LogPublisher {
  /**
   * Resolves once all records are durable, in the given order within each partition, to the offset of the first record
   * in each partition.
   */
  publish(topic: TopicName, records: readonly PublishedRecord[]): Promise<ReadonlyMap<number, number>>;
  /** Where bad records go, as they came. */
  rejects: Pick<RejectSink, 'publish'>;
  close(): Promise<void>;
}
