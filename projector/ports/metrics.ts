import type { TopicName } from '../../schemas/events/records.ts';

/** What the projector counts; services/ puts it on Prometheus. */
export interface ProjectorMetrics {
  folded(topic: TopicName, records: number): void;
  rejected(topic: TopicName, reason: string): void;
  /** A record whose revision is lower than the one before of its key. */
  revisionFell(topic: TopicName): void;
  written(views: number, bytes: number): void;
  /** From the oldest change of a round to its last view written, in seconds. */
  freshness(seconds: number): void;
  reconciled(tags: number, differing: number): void;
}

export const noMetrics: ProjectorMetrics = {
  folded() {},
  rejected() {},
  revisionFell() {},
  written() {},
  freshness() {},
  reconciled() {},
};
