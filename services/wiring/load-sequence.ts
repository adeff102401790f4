import { MergedTopic } from '../../infra/archive/merged-topic.ts';
import type { LogBounds, LogRecord, UndecodableRecord } from '../../projector/ports/event-log.ts';
import type { PublishedRecord } from '../../projector/ports/log-publisher.ts';
import { murmur2Partition } from '../../schemas/events/partitioner.ts';
import type { TopicName } from '../../schemas/events/records.ts';
import type { RawValues } from './raw-values.ts';

/** A record as a load publishes it. */
export type LoadedRecord = PublishedRecord & { partition: number; key: Buffer };

export interface LoadSource {
  dir: string;
  prefix: string;
  /** What of the archive is loaded. */
  bounds: LogBounds;
  /** Partitions that the target has. */
  partitions(topic: TopicName): number;
  /** The archive's own partition numbers, instead of those that Kafka's own producer would choose. */
  keepPartitions: boolean;
  /** Absent: values are published as they came. */
  rawValues?: RawValues;
  signal: AbortSignal;
  log?: { warn(message: string): void };
}

/** Takes one record; a promise where the next has to wait. `from`: as the archive has it. */
type OnRecord = (record: LoadedRecord, from: LogRecord | UndecodableRecord) => Promise<void> | undefined;

/**
 * Gives what a load publishes of a topic, in order: the archive's partitions merged by time. The same archive and the
 * same number of partitions give the same sequence in each partition every time: that is how a load that was stopped
 * knows where it stopped.
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
        // An archive's records all have keys.
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
