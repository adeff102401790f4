import type { SimulatedArchive } from '../../infra/archive/format/archive-manifest.ts';
import type { LogPublisher, PublishedRecord } from '../../projector/ports/log-publisher.ts';
import { encodeValue } from '../../schemas/avro/codec.ts';
import { defaultPartitioners } from '../../schemas/events/partitioner.ts';
import type { TopicName } from '../../schemas/events/records.ts';
import type { PartitionOf } from '../backends/declared-partitions.ts';
import { newArchive } from '../backends/new-archive.ts';
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

/** Writes to a new archive. */
export function archiveSink(
  place: { dir: string; prefix: string },
  simulated?: SimulatedArchive,
  partitioners = defaultPartitioners,
): RecordSink {
  const archive = newArchive(place, partitioners);
  return {
    add: (record) => void archive.add(record),
    flush: async () => archive.flush(),
    complete: async () => archive.complete(simulated),
    close: () => archive.close(),
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
const encoded = ({ topic, value }: SimulatedRecord): Buffer | null =>
  value === null ? null : encodeValue(topic, value);
