import { type TopicName, topicNames } from '../../schemas/events/records.ts';
import { type ArchiveManifest, writeManifest } from './archive-manifest.ts';
import type { ArchiveWriter } from './archive-writer.ts';
import { hashSchemaOf } from './partition-ledger.ts';

type Topics = ArchiveManifest['topics'];

/** A manifest's topics, from what a writer wrote, which is durable then. `partitions`: their numbers of partitions. */
export function manifestTopics(writer: ArchiveWriter, partitions: Record<TopicName, number>): Topics {
  const topics: Topics = {};
  for (const topic of topicNames) {
    const each = Array.from({ length: partitions[topic] }, (_, i) => writer.summary(topic, i));
    topics[topic] = { hash_schema: hashSchemaOf(topic), partitions: each };
  }
  return topics;
}

/**
 * Writes the manifest of an archive that is made as a whole, and not saved from a log. Call it before the first file, so
 * that an incomplete archive is recognized, and again when everything is written.
 */
export function writeManifestOfMade(
  { dir, prefix }: { dir: string; prefix: string },
  writer: ArchiveWriter,
  partitions: Record<TopicName, number>,
): void {
  const topics = manifestTopics(writer, partitions);
  const exact_since = firstInstant(topics);
  writeManifest(dir, {
    version: 1,
    prefix,
    log: null,
    exact_since,
    saved_until: null,
    topics,
    rejected: [],
    schemas: [],
  });
}

function firstInstant(topics: Topics): string | null {
  const times = Object.values(topics).flatMap(({ partitions }) =>
    partitions.flatMap(({ first_timestamp }) => (first_timestamp === null ? [] : [first_timestamp])),
  );
  const first = times.reduce((least, time) => Math.min(least, time), Number.POSITIVE_INFINITY);
  return Number.isFinite(first) ? new Date(first).toISOString() : null;
}
