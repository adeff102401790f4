import type { ArchiveListing } from '../../../infra/archive/archive-files.ts';
import { recordsWithin } from '../../../infra/archive/archive-partition.ts';
import { decoded } from '../../../projector/ports/decoded-record.ts';
import type { EncodedRecord, LogBounds } from '../../../projector/ports/event-log.ts';
import type { PublishedRecord } from '../../../projector/ports/log-publisher.ts';
import { encodeValue } from '../../../schemas/avro/codec.ts';
import { murmur2Partition } from '../../../schemas/events/partitioner.ts';
import type { TopicName } from '../../../schemas/events/records.ts';

/** A record as a load publishes it. */
export type LoadedRecord = PublishedRecord & { partition: number; key: Buffer };

/** An archive as it is when a load begins. */
export interface LoadSource {
  listing: ArchiveListing;
  bounds: LogBounds;
  signal: AbortSignal;
}

/** Gives a topic's records in the order of a load: the archive's partitions merged by time, each in its own order. */
export async function loadSequence(
  { listing, bounds, signal }: LoadSource,
  topic: TopicName,
  /** Returns a promise if the next record must wait. */
  onRecord: (record: EncodedRecord) => Promise<void> | undefined,
): Promise<void> {
  const all = bounds[topic].map((within, partition): Head => {
    const blocks = recordsWithin({ topic, partition }, listing[topic][partition]!, within);
    return { blocks, records: [], at: 0 };
  });
  try {
    for (let heads = await filled(all); heads.length > 0; heads = await filled(heads)) {
      signal.throwIfAborted();
      for (let record = takeFirst(heads); record; record = takeFirst(heads)) {
        const busy = onRecord(record);
        if (busy) await busy;
      }
    }
  } finally {
    for (const { blocks } of all) await blocks.return();
  }
}

/** A record to publish, in the archive's partition or, of a number of partitions, in that of Kafka's own producer. */
export function loadedRecord(record: EncodedRecord, partitions: number | null): LoadedRecord {
  // All records of an archive have keys.
  const key = record.keyBytes!;
  const { timestampMs, headers = [] } = record;
  const partition = partitions === null ? record.partition : murmur2Partition(key, partitions);
  return { partition, key, value: ourValue(record), timestampMs, headers };
}

/** Whether a value came with more than our schema holds. That is not loaded (docs/rules.md#raw-values). */
export const holdsMore = ({ rawValue }: EncodedRecord): boolean => (rawValue ?? null) !== null;

/** A value in our schema. One that cannot be decoded stays as it came, and bad. */
function ourValue(record: EncodedRecord): Buffer | null {
  const one = decoded(record);
  if ('undecodable' in one) return record.raw().value;
  return one.value && encodeValue(record.topic, one.value as never);
}

/** A partition's records that were read and not yet taken. */
interface Head {
  blocks: AsyncGenerator<EncodedRecord[], void>;
  records: EncodedRecord[];
  at: number;
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
