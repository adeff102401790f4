import { existsSync } from 'node:fs';
import { decodeWith } from '../../schemas/avro/codec.ts';
import { defaultPartitions, partitionFor } from '../../schemas/events/partitioner.ts';
import type { AnyRecord, TopicName } from '../../schemas/events/records.ts';
import { assertDeclared, type PartitionOf } from '../backends/declared-partitions.ts';
import { draftArchive } from '../backends/new-archive.ts';
import { holdsOnlyDraft } from '../cli/draft-folder.ts';
import { needFolderName } from '../cli/empty-folder.ts';
import { type Io, needKafka, UsageError } from '../cli/io.ts';
import type { KafkaSettings, Settings } from '../settings/settings.ts';
import type { LineRecord } from './json-lines/json-line.ts';

export type TargetRecord = LineRecord & { partition: number };

/** Where records are published. */
export interface PublishTarget {
  partitionOf: PartitionOf;
  /** Resolves once all are durable, to the offset of the first record in each partition. The others follow without a gap. */
  publish(topic: TopicName, records: readonly TargetRecord[]): Promise<ReadonlyMap<number, number>>;
  /** Says that everything was published. An archive is there only then. */
  complete(): Promise<void>;
  close(): Promise<void>;
}

/** Opens it, and looks whether it can be published to. Null: neither is named, which a dry run does without. */
export async function openTarget(
  topics: readonly TopicName[],
  { archive, dryRun }: { archive: string | undefined; dryRun: boolean },
  settings: Settings,
  io: Io,
): Promise<PublishTarget | null> {
  if (archive !== undefined) return archiveTarget(archive, topics, dryRun, settings);
  if (dryRun && settings.kafka === null) return null;
  return kafkaTarget(needKafka(settings, 'records publish without --archive'), topics, settings, io);
}

async function kafkaTarget(
  kafka: KafkaSettings,
  topics: readonly TopicName[],
  settings: Settings,
  io: Io,
): Promise<PublishTarget> {
  const { openDeclaredPublisher } = await import('../backends/open-kafka.ts');
  const { partitionOf, publisher } = await openDeclaredPublisher('records publish', topics, kafka, settings, io);
  return {
    partitionOf,
    publish(topic, records) {
      const timestampMs = Date.now();
      const sent = records.map(({ partition, keyBytes: key, valueBytes: value }) => ({
        partition,
        key,
        value,
        timestampMs,
      }));
      return publisher.publish(topic, sent);
    },
    complete: async () => {},
    close: () => publisher.close(),
  };
}

function archiveTarget(
  dir: string,
  topics: readonly TopicName[],
  dryRun: boolean,
  { partitioners, topicPrefix: prefix }: Settings,
): PublishTarget | null {
  needFolderName(dir, 'records publish --archive');
  if (existsSync(dir) && !holdsOnlyDraft(dir))
    throw new UsageError(`Cannot run records publish --archive: ${dir} is there already, want a new name`);
  assertDeclared('records publish --archive', topics, partitioners, defaultPartitions);
  if (dryRun) return null;
  const archive = draftArchive('records publish', { dir, prefix }, partitioners);
  return {
    ...archive,
    partitionOf: (topic, key) => partitionFor(partitioners[topic], key, defaultPartitions[topic])!,
    async publish(topic, records) {
      const first = new Map<number, number>();
      const timestampMs = Date.now();
      for (const { key, decoder, valueBytes } of records) {
        const value = valueBytes && (decodeWith(decoder, valueBytes) as { value: AnyRecord }).value;
        const { partition, offset } = archive.add({ topic, key, value, timestampMs });
        if (!first.has(partition)) first.set(partition, offset);
      }
      return first;
    },
  };
}
