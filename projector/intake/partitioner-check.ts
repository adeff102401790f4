import { crc32Partition, murmur2Partition } from '../../schemas/events/partitioner.ts';
import { byTopic, type TopicName, topicNames } from '../../schemas/events/records.ts';
import type { LogBatch, LogBounds } from '../ports/event-log.ts';
import type { ExplainedRecords, ProjectorMetrics } from '../ports/metrics.ts';
import type { Log } from '../running/log.ts';

/** Counts of a topic's records so far. */
interface Counts extends ExplainedRecords {
  /** Records whose key CRC32 was computed for. */
  crc32Asked: number;
  warned: boolean;
}

/**
 * Counts, by topic, the records whose partition murmur2 and CRC32 each explain (docs/rules.md#one-partition-per-key).
 * If neither explains all, two kinds of producers may have put one key into two partitions, and then it is unknown
 * which of its records is the last. A warning says so, once per topic. Storing the partition of every key would take
 * more memory than the facts.
 *
 * Nearly every log is explained by one of them. CRC32 takes longer, so once it has missed a record it is computed only
 * for those that murmur2 misses. It is still known exactly whether either explains all.
 */
export class PartitionerCheck {
  readonly #partitions: Record<TopicName, number>;
  readonly #deps: { log: Log; metrics: ProjectorMetrics };
  readonly #counts: Record<TopicName, Counts>;
  #warns = false;

  /** `bounds` gives each topic's number of partitions. */
  constructor(bounds: LogBounds, deps: { log: Log; metrics: ProjectorMetrics }) {
    this.#partitions = byTopic((topic) => bounds[topic].length);
    this.#deps = deps;
    const none: Counts = { records: 0, murmur2: 0, crc32: 0, neither: 0, crc32Asked: 0, warned: false };
    this.#counts = byTopic(() => ({ ...none }));
  }

  take({ topic, partition, records }: LogBatch): void {
    const counts = this.#counts[topic];
    const { murmur2, crc32, neither } = counts;
    for (const { keyBytes } of records) count(counts, keyBytes, partition, this.#partitions[topic]);
    this.#deps.metrics.partitionExplained(topic, {
      records: records.length,
      murmur2: counts.murmur2 - murmur2,
      crc32: counts.crc32 - crc32,
      neither: counts.neither - neither,
    });
    if (this.#warns) this.#warn(topic);
  }

  /** Enables warnings. Called once the log is folded up to its ends: before that, the counts say little. */
  warn(): void {
    this.#warns = true;
    for (const topic of topicNames) this.#warn(topic);
  }

  #warn(topic: TopicName): void {
    const counts = this.#counts[topic];
    const { records, murmur2, crc32, crc32Asked } = counts;
    if (counts.warned || murmur2 === records || crc32 === records) return;
    counts.warned = true;
    this.#deps.log.warn(
      `Keys of ${topic} may be in two of its ${this.#partitions[topic]} partitions, where their order is unknown: murmur2 (Kafka's Java producer) explains the partition of ${murmur2} of ${records} records, CRC32 (librdkafka's default) that of ${crc32} of ${crc32Asked}; have all producers use one partitioner, and publish every entity again to topics under a new KAFKA_TOPIC_PREFIX`,
    );
  }
}

function count(counts: Counts, key: Buffer | null, partition: number, partitions: number): void {
  counts.records++;
  // Without a key, any partition is right.
  const isAny = key === null || key.length === 0;
  const isMurmur2 = isAny || murmur2Partition(key, partitions) === partition;
  if (isMurmur2) counts.murmur2++;
  if (isMurmur2 && counts.crc32 < counts.crc32Asked) return;
  counts.crc32Asked++;
  if (isAny || crc32Partition(key, partitions) === partition) counts.crc32++;
  else if (!isMurmur2) counts.neither++;
}
