import type { TopicName } from '../../schemas/events/records.ts';
import type { ManifestPartition } from './archive-manifest.ts';
import { ArchivePartitionWriter, type ArchiveWriterOptions } from './archive-partition-writer.ts';
import type { ArchiveRecord } from './archived-bytes.ts';

export type { ArchiveWriterOptions } from './archive-partition-writer.ts';
export type { ArchiveRecord } from './archived-bytes.ts';

export interface ArchiveWriter {
  /** Adds a record. It is on disk after the next flush, or once its block is full. Throws ArchiveError. */
  append(topic: TopicName, record: ArchiveRecord): undefined;
  /**
   * Creates a partition that may stay empty. Its records will not be below `firstOffset`. Does nothing if the partition
   * exists.
   */
  addPartition(topic: TopicName, partition: number, firstOffset: number): void;
  /** One more than the partition's last offset. Null if it has no record yet. */
  nextOffset(topic: TopicName, partition: number): number | null;
  /** Records that a partition was saved up to an offset, even if no record has the offset before it. */
  reached(topic: TopicName, partition: number, nextOffset: number): void;
  /**
   * What the manifest says about a partition. Its records are durable then. Only for partitions with `known`, or that
   * began empty.
   */
  summary(topic: TopicName, partition: number): ManifestPartition;
  /** Writes what was appended, as whole blocks that readers see at once. */
  flush(): void;
  /** Flushes, and makes everything durable. */
  close(): Promise<void>;
}

/** Writes a new archive (docs/rules.md#archive), or adds to one. One writer at a time. */
export function archiveWriter(options: ArchiveWriterOptions): ArchiveWriter {
  const partitions = new Map<TopicName, ArchivePartitionWriter[]>();
  const partitionOf = (topic: TopicName, partition: number): ArchivePartitionWriter => {
    const known = partitions.get(topic) ?? [];
    partitions.set(topic, known);
    known[partition] ??= new ArchivePartitionWriter(topic, partition, options);
    return known[partition];
  };
  const each = () => [...partitions.values()].flatMap((known) => Object.values(known));
  const flush = () => {
    for (const partition of each()) partition.flush();
  };
  return {
    append(topic, record) {
      partitionOf(topic, record.partition).append(record);
      return undefined;
    },
    addPartition: (topic, partition, firstOffset) => partitionOf(topic, partition).begin(firstOffset),
    nextOffset: (topic, partition) => partitionOf(topic, partition).nextOffset,
    reached: (topic, partition, nextOffset) => partitionOf(topic, partition).reached(nextOffset),
    summary: (topic, partition) => partitionOf(topic, partition).summary(),
    flush,
    async close() {
      for (const partition of each()) partition.close();
    },
  };
}
