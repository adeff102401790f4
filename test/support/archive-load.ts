import type { PublishedRecord } from '../../projector/ports/log-publisher.ts';
import { encodeValue } from '../../schemas/avro/codec.ts';
import { archiveLoad, type LoadOptions } from '../../services/wiring/archive/archive-load.ts';
import { TestArchive } from './archive.ts';
import type { KeptLog } from './kept-log.ts';
import { sampleRecords } from './records.ts';

/** What tests of `archive load` share: archives of a few riders, and logs to load them into. */

export const load = (dir: string, log: KeptLog, options: Partial<LoadOptions> = {}) =>
  archiveLoad({ dir }, { publisher: log, log }, { signal: new AbortController().signal, append: false, ...options });

export const startMs = 1_700_000_000_000;

export const rider = (key: string, timestampMs = startMs) => ({
  key,
  value: { ...sampleRecords.riders, rider: key, revision: timestampMs },
  timestampMs,
});

export const publishedRider = (key: string, timestampMs = startMs): PublishedRecord => ({
  key: Buffer.from(key),
  value: encodeValue('riders', rider(key, timestampMs).value as never),
  timestampMs,
});

export const keysOf = (records: readonly (PublishedRecord | null)[]) => records.map((record) => String(record?.key));

/** An archive of riders: of each partition keys and times, in order. */
export async function archiveOf(...partitions: [string, number][][]): Promise<TestArchive> {
  const archive = await TestArchive.make();
  await archive.createTopics(partitions.length);
  for (const [partition, records] of partitions.entries()) {
    await archive.append(
      'riders',
      partition,
      records.map(([key, time]) => rider(key, startMs + time)),
    );
  }
  return archive;
}
