import { archiveFolder, listTopicFiles } from '../../../infra/archive/archive-files.ts';
import { recordsWithin } from '../../../infra/archive/archive-partition.ts';
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
  /** What the target held before. */
  there: LogBounds;
  /** Keep the archive's partition numbers, instead of choosing as Kafka's own producer does. */
  keepPartitions: boolean;
  rawValues: RawValues;
  signal: AbortSignal;
}

/** Takes one record. Returns a promise if the next one must wait. `from`: the record in the archive. */
type OnRecord = (record: LoadedRecord, from: EncodedRecord) => Promise<void> | undefined;

/**
 * Gives what a load publishes to a topic, in order: the archive's partitions merged by time. The same archive and the
 * same number of partitions always give the same sequence in each partition. That is how a load that was stopped finds
 * where it stopped.
 */
export async function loadSequence(source: LoadSource, topic: TopicName, onRecord: OnRecord): Promise<void> {
  const { keepPartitions, rawValues, signal } = source;
  const partitions = source.there[topic].length;
  const all = await headsOf(source, topic);
  try {
    for (let heads = await filled(all); heads.length > 0; heads = await filled(heads)) {
      signal.throwIfAborted();
      for (let from = takeFirst(heads); from; from = takeFirst(heads)) {
        const { key, value: asItCame } = from.raw();
        const value = rawValues.names(asItCame) ? await rawValues.registered(topic, from, asItCame) : asItCame;
        // All records of an archive have keys.
        const record = { key: key!, value, timestampMs: from.timestampMs, headers: from.headers ?? [] };
        const partition = keepPartitions ? from.partition : murmur2Partition(record.key, partitions);
        const busy = onRecord({ ...record, partition }, from);
        if (busy) await busy;
      }
    }
  } finally {
    for (const { blocks } of all) await blocks.return();
  }
}

/** A partition's records that were read and not yet taken. */
interface Head {
  blocks: AsyncGenerator<EncodedRecord[], void>;
  records: EncodedRecord[];
  at: number;
}

async function headsOf({ dir, prefix, bounds }: LoadSource, topic: TopicName): Promise<Head[]> {
  const files = (await listTopicFiles(archiveFolder(dir, prefix, topic))) ?? [];
  return bounds[topic].map((within, partition) => ({
    blocks: recordsWithin({ topic, partition }, files[partition] ?? [], within),
    records: [],
    at: 0,
  }));
}

/** Reads more of the partitions that have nothing left to take. Returns those that have records. */
async function filled(heads: readonly Head[]): Promise<Head[]> {
  for (const head of heads) {
    if (head.at < head.records.length) continue;
    head.records = (await head.blocks.next()).value ?? [];
    head.at = 0;
  }
  return heads.filter(({ at, records }) => at < records.length);
}

/**
 * The record with the earliest timestamp. If these are equal, that of the lower partition. Null if more must be read
 * first.
 */
function takeFirst(heads: readonly Head[]): EncodedRecord | null {
  let first: Head | null = null;
  for (const head of heads) {
    if (head.at >= head.records.length) return null;
    if (!first || head.records[head.at]!.timestampMs < first.records[first.at]!.timestampMs) first = head;
  }
  return first ? first.records[first.at++]! : null;
}
