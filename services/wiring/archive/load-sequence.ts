import { MergedTopic } from '../../../infra/archive/merged-topic.ts';
import type { EncodedRecord, LogBounds } from '../../../projector/ports/event-log.ts';
import type { PublishedRecord } from '../../../projector/ports/log-publisher.ts';
import { murmur2Partition } from '../../../schemas/events/partitioner.ts';
import type { TopicName } from '../../../schemas/events/records.ts';
import type { RawValues } from './raw-values.ts';

/** A record as a load publishes it. */
export type LoadedRecord = PublishedRecord & { partition: number; key: Buffer };

export interface LoadSource {
  dir: string;
  prefix: string;
  /** The part of the archive that is loaded. */
  bounds: LogBounds;
  /** The target's number of partitions. */
  partitions(topic: TopicName): number;
  /** Keep the archive's partition numbers, instead of choosing as Kafka's own producer does. */
  keepPartitions: boolean;
  /** If absent, values are published as they came. */
  rawValues?: RawValues;
  signal: AbortSignal;
  log?: { warn(message: string): void };
}

/** Takes one record. Returns a promise if the next one must wait. `from`: the record in the archive. */
type OnRecord = (record: LoadedRecord, from: EncodedRecord) => Promise<void> | undefined;

/**
 * Yields what a load publishes to a topic, in order: the archive's partitions merged by time. The same archive and the
 * same number of partitions always give the same sequence in each partition. That is how a load that was stopped finds
 * where it stopped.
 */
export async function loadSequence(source: LoadSource, topic: TopicName, onRecord: OnRecord): Promise<void> {
  const { dir, prefix, bounds, keepPartitions, rawValues, signal, log } = source;
  const partitions = source.partitions(topic);
  const warn = (message: string) => log?.warn(message);
  const merged = await MergedTopic.open({ dir, prefix, topic, bounds: bounds[topic], warn });
  try {
    while (await merged.fill()) {
      signal.throwIfAborted();
      for (let from = merged.take(); from; from = merged.take()) {
        const { key, value: asItCame } = from.raw();
        const value = rawValues?.names(asItCame) ? await rawValues.registered(topic, from, asItCame) : asItCame;
        // All records of an archive have keys.
        const record = { key: key!, value, timestampMs: from.timestampMs, headers: from.headers ?? [] };
        const partition = keepPartitions ? from.partition : murmur2Partition(record.key, partitions);
        const busy = onRecord({ ...record, partition }, from);
        if (busy) await busy;
      }
    }
  } finally {
    await merged.close();
  }
}
