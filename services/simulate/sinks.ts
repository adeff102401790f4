import { emptyManifest, type SimulatedArchive, writeManifest } from '../../infra/archive/format/archive-manifest.ts';
import { ArchiveWriter } from '../../infra/archive/saving/archive-writer.ts';
import type { LogPublisher, PublishedRecord } from '../../projector/ports/log-publisher.ts';
import { encodeValue } from '../../schemas/avro/codec.ts';
import { defaultPartitioners, defaultPartitions, partitionFor } from '../../schemas/events/partitioner.ts';
import { type TopicName, topicNames } from '../../schemas/events/records.ts';
import type { PartitionOf } from '../backends/declared-partitions.ts';
import type { SimulatedRecord } from './world/world.ts';

export interface RecordSink {
  /** Takes a record. Returns a promise if the caller should wait before the next one. */
  add(record: SimulatedRecord): Promise<void> | undefined;
  /** Resolves once everything taken can be read. */
  flush(): Promise<void>;
  /** Says that everything was added. Until then, an archive has no manifest. */
  complete(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Writes to an archive, with offsets from 0. Each key is in the partition that the declared partitioner gives it, which must
 * not be `other`.
 */
export function archiveSink(
  place: { dir: string; prefix: string },
  simulated?: SimulatedArchive,
  partitioners = defaultPartitioners,
): RecordSink {
  const writer = new ArchiveWriter(place);
  const nextOffsets = new Map(topicNames.map((topic) => [topic, Array<number>(defaultPartitions[topic]).fill(0)]));
  // Empty partitions are created too: a reader learns the number of partitions from the files.
  for (const [topic, offsets] of nextOffsets) for (const p of offsets.keys()) writer.addPartition(topic, p, 0);
  return {
    add({ topic, key, value, timestampMs }) {
      const offsets = nextOffsets.get(topic)!;
      const partition = partitionFor(partitioners[topic], Buffer.from(key), offsets.length)!;
      writer.append(topic, { partition, offset: offsets[partition]!++, timestampMs, key, value });
      return undefined;
    },
    flush: async () => writer.flush(),
    async complete() {
      const topics = writer.manifestTopics(defaultPartitions);
      const partitions = Object.values(topics).flatMap((topic) => topic.partitions);
      const times = partitions.flatMap(({ first_timestamp: time }) => (time === null ? [] : Number(time)));
      const exact_since = new Date(Math.min(...times)).toISOString();
      writeManifest(place.dir, {
        ...emptyManifest(place.prefix),
        exact_since,
        topics,
        ...(simulated && { simulated }),
      });
    },
    close: () => writer.close(),
  };
}

const batchRecordsMax = 5_000;

/** Publishes to Kafka, some thousands of records at a time. */
export function kafkaSink(publisher: LogPublisher, partitionOf: PartitionOf): RecordSink {
  let batches = new Map<TopicName, PublishedRecord[]>();
  let count = 0;
  const flush = async (): Promise<void> => {
    const full = batches;
    batches = new Map();
    count = 0;
    await Promise.all([...full].map(([topic, records]) => publisher.publish(topic, records)));
  };
  return {
    add(record) {
      const { topic, key, timestampMs } = record;
      const batch = batches.get(topic) ?? [];
      const partition = partitionOf(topic, Buffer.from(key));
      if (batch.push({ key, partition, timestampMs, value: encoded(record) }) === 1) batches.set(topic, batch);
      return ++count >= batchRecordsMax ? flush() : undefined;
    },
    flush,
    complete: flush,
    async close() {
      await flush().finally(() => publisher.close());
    },
  };
}

/** The compiler cannot see that a record's topic and value belong together. */
function encoded({ topic, value }: SimulatedRecord): Buffer | null {
  return value === null ? null : encodeValue(topic as 'metros', value as never);
}
