import type { TopicName } from '../../schemas/events/records.ts';

/** What the projector counts. services/ exports it to Prometheus. */
export interface ProjectorMetrics {
  folded(topic: TopicName, records: number): void;
  /** The latest timestamp of a batch of records, in milliseconds since the epoch (clampedMs). */
  timestamps(topic: TopicName, partition: number, latestMs: number): void;
  rejected(topic: TopicName, reason: string): void;
  /** A record whose revision is lower than the one before of its key. */
  revisionRegressed(topic: TopicName): void;
  /** Records in another partition than their key's (docs/rules.md#one-partition-per-key). */
  misplaced(topic: TopicName, records: number): void;
  written(views: number, bytes: number): void;
  /** A batch of changes became readable: how long after the time of its first record, in seconds. */
  readable(seconds: number): void;
  /** A call of the view store was answered. */
  storeAnswered(operation: string, seconds: number): void;
  compared(views: number): void;
  reconciled(differing: number): void;
  /** The views of all tags were compared in the background, at this time in milliseconds since the epoch. */
  checkedAll(wallMs: number): void;
  /** The background check found a wrong view. */
  faulty(kind: string): void;
}

export const noMetrics: ProjectorMetrics = {
  folded() {},
  timestamps() {},
  rejected() {},
  revisionRegressed() {},
  misplaced() {},
  written() {},
  readable() {},
  storeAnswered() {},
  compared() {},
  reconciled() {},
  checkedAll() {},
  faulty() {},
};
