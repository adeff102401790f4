import {
  emptyManifest,
  manifestName,
  type SimulatedArchive,
  writeManifest,
} from '../../infra/archive/format/archive-manifest.ts';
import type { ArchiveRecord } from '../../infra/archive/format/partition-ledger.ts';
import { ArchiveWriter } from '../../infra/archive/saving/archive-writer.ts';
import { decodeWith } from '../../schemas/avro/codec.ts';
import { defaultPartitions, type Partitioners, partitionFor } from '../../schemas/events/partitioner.ts';
import { type AnyRecord, byTopic, type TopicName, topicNames } from '../../schemas/events/records.ts';
import { draftFolder } from '../cli/draft-folder.ts';
import type { PublishTarget } from './publishing.ts';

interface NewRecord {
  topic: TopicName;
  key: string;
  value: AnyRecord | null;
  timestampMs: number;
}

/**
 * Writes a new archive, from offset 0 on, with keys where the declared partitioner, never `other`, puts them. `simulated`:
 * what its manifest says of a made-up one.
 */
export function newArchive(
  place: { dir: string; prefix: string },
  partitioners: Partitioners,
  simulated?: SimulatedArchive,
) {
  const writer = new ArchiveWriter(place);
  const nextOffsets = byTopic((topic) => Array<number>(defaultPartitions[topic]).fill(0));
  // Empty partitions are created too: a reader learns the number of partitions from the files.
  for (const topic of topicNames) for (const p of nextOffsets[topic].keys()) writer.addPartition(topic, p, 0);
  return {
    /** Returns where the record was put. */
    add({ topic, key, value, timestampMs }: NewRecord): { partition: number; offset: number } {
      const offsets = nextOffsets[topic];
      const partition = partitionFor(partitioners[topic], Buffer.from(key), offsets.length)!;
      const offset = offsets[partition]!++;
      writer.append(topic, { partition, offset, timestampMs, key, value } as ArchiveRecord);
      return { partition, offset };
    },
    /** Says that everything was added. Until then, the archive has no manifest. */
    async complete(): Promise<void> {
      const topics = writer.manifestTopics(defaultPartitions);
      const partitions = Object.values(topics).flatMap((topic) => topic.partitions);
      const times = partitions.flatMap(({ first_timestamp: time }) => (time === null ? [] : Number(time)));
      const exact_since = times.length === 0 ? null : new Date(Math.min(...times)).toISOString();
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

/** The same in a new or empty folder, for a command to publish to: it is there once it is complete, or not at all. */
export function draftArchive(
  command: string,
  { dir, prefix }: { dir: string; prefix: string },
  partitioners: Partitioners,
  simulated?: SimulatedArchive,
): PublishTarget {
  const draft = draftFolder(dir, command);
  const archive = newArchive({ dir: draft.path, prefix }, partitioners, simulated);
  return {
    partitionOf: (topic, key) => partitionFor(partitioners[topic], key, defaultPartitions[topic])!,
    async publish(topic, records) {
      const first = new Map<number, number>();
      const nowMs = Date.now();
      for (const { key, decoder, valueBytes, timestampMs = nowMs } of records) {
        const value = valueBytes && (decodeWith(decoder, valueBytes) as { value: AnyRecord }).value;
        const { partition, offset } = archive.add({ topic, key, value, timestampMs });
        if (!first.has(partition)) first.set(partition, offset);
      }
      return first;
    },
    async complete() {
      await archive.complete();
      await archive.close();
      draft.publish(manifestName);
    },
    async close() {
      await archive.close();
      draft.drop();
    },
  };
}
