import type { TopicName } from '../../schemas/events/records.ts';
import type { ManifestPartition } from './archive-manifest.ts';
import { ArchivePartitionWriter, type ArchiveWriterOptions } from './archive-partition-writer.ts';
import type { ArchiveRecord } from './archived-bytes.ts';

export type { ArchiveWriterOptions } from './archive-partition-writer.ts';
export type { ArchiveRecord } from './archived-bytes.ts';

export interface ArchiveWriter {
  /** Adds a record; it is on disk after the next flush, or once its block is full. Throws ArchiveError. */
  append(topic: TopicName, record: ArchiveRecord): undefined;
  /** Makes a partition that may stay empty, whose records will not be below `firstOffset`. Not where it is there. */
  addPartition(topic: TopicName, partition: number, firstOffset: number): void;
  /** One more than the partition's last offset; null where it has no record yet. */
  nextOffset(topic: TopicName, partition: number): number | null;
  /** Says that a partition was saved up to an offset, whether or not a record stands before it. */
  reached(topic: TopicName, partition: number, nextOffset: number): void;
  /** What the manifest says of a partition, whose records are durable then. Of those with `known` or begun empty. */
  summary(topic: TopicName, partition: number): ManifestPartition;
  /** Writes what was appended, as whole blocks that readers see at once. */
  flush(): void;
  /** Flushes, and makes everything durable. */
  close(): Promise<void>;
}

/** Writes an archive (docs/rules.md#archive), or goes on with one. One writer at a time. */
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
