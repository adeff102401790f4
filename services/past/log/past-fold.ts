import type { ArchiveSources, PartitionCursor } from '../../../infra/archive/log/partition-cursor.ts';
import { eachOfTopic } from '../../../infra/archive/log/records-in-time.ts';
import type { Facts } from '../../../projector/facts/facts.ts';
import { Fold } from '../../../projector/facts/fold.ts';
import { Validator } from '../../../projector/intake/validator.ts';
import { byTopic, type TopicName, topicNames } from '../../../schemas/events/records.ts';

export interface FoldedPast {
  facts: Facts;
  /** Good records that count. */
  records: number;
  /** Records that count, but are bad. */
  bad: number;
  /** For each partition, one more than the offset of the last record that counts. */
  offsets: Record<TopicName, number[]>;
}

interface FoldPastOptions {
  /** Records with a later time do not count. */
  atMs: number;
  signal: AbortSignal;
  onProgress?(records: number): void;
}

/**
 * Folds the records whose time is at or before an instant. For each key the last record in its partition wins, whatever
 * its time. If a key is in several partitions, the record with the latest time wins, so the same records give the same
 * facts however they are divided. Throws the signal's reason.
 */
export async function foldPast(sources: ArchiveSources, options: FoldPastOptions): Promise<FoldedPast> {
  const fold = new Fold();
  const offsets = byTopic((): number[] => []);
  const past: FoldedPast = { facts: fold.facts, records: 0, bad: 0, offsets };
  for (const { topic, partition, low } of sources.partitions) offsets[topic][partition] = low;
  let read = 0;
  for (const topic of topicNames) {
    await eachOfTopic(sources, topic, options.signal, ({ timeMs, encoded, source }) => {
      options.onProgress?.(++read);
      if (timeMs > options.atMs) return;
      offsets[topic][source.partition] = encoded!.offset + 1;
      if (validator.validate(encoded!) !== null) past.bad++;
      else {
        fold.apply(validator.good);
        past.records++;
      }
    });
  }
  return past;
}

const validator = new Validator();

/** Whether the record that a cursor is on is one that a fold accepts. */
export const isGoodAt = ({ encoded }: PartitionCursor): boolean => validator.validate(encoded!) === null;
