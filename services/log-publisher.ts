import type { Bounds, RawRecord, Reject } from '../projector/event-log.ts';
import type { TopicName } from '../schemas/records.ts';

/** A record to write, as bytes. The partition is given: it must not change with the number of partitions. */
export interface PublishRecord extends RawRecord {
  partition: number;
  /** Milliseconds since the epoch. */
  timestampMs: number;
}

/** Writing to the event log, as `archive load`, `simulate` and `rejected resubmit` need it: Kafka (infra/). */
export interface LogPublisher {
  /** Each topic's partitions as they are now. Throws MissingTopicsError where topics are absent. */
  bounds(): Promise<Record<TopicName, Bounds[]>>;
  /** Resolves once every one is acknowledged. Records of a partition keep their order, also across calls. */
  publish(topic: TopicName, records: PublishRecord[]): Promise<void>;
  /** To `<prefix>rejected`, with the headers that name topic, partition, offset and reason. */
  publishRejected(rejects: Reject[]): Promise<void>;
  close(): Promise<void>;
}
