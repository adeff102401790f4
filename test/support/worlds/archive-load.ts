import type { PublishedRecord } from '../../../projector/ports/log-publisher.ts';
import { encodeValue } from '../../../schemas/avro/codec.ts';
import { defaultPartitioners } from '../../../schemas/events/partitioner.ts';
import { byTopic, defaultTopicPrefix } from '../../../schemas/events/records.ts';
import { archiveLoad, type LoadOptions } from '../../../services/archive/load-log.ts';
import { MemoryEventLog } from '../stores/memory-event-log.ts';
import { TestArchive } from './archive.ts';
import { rider } from './records.ts';

/** What tests of `archive load` share: archives of a few riders, and logs to load them into. */

export function emptyLog(partitions: number, low = 0): MemoryEventLog {
  return new MemoryEventLog({ partitions: byTopic(() => partitions), records: [] }, 7, low);
}

export const load = (dir: string, log: MemoryEventLog, options: Partial<LoadOptions> = {}) =>
  archiveLoad(
    { dir, prefix: defaultTopicPrefix },
    { publisher: log, log },
    {
      signal: new AbortController().signal,
      append: false,
      partitioners: defaultPartitioners,
      givenPartitioners: defaultPartitioners,
      ...options,
    },
  );

export const startMs = 1_700_000_000_000;

export const publishedRider = (key: string, timestampMs = startMs): PublishedRecord => ({
  key: Buffer.from(key),
  value: encodeValue('riders', rider(key).value),
  timestampMs,
});

/** An archive of riders: of each partition keys and times, in order. */
export async function archiveOf(...partitions: [string, number][][]): Promise<TestArchive> {
  const archive = await TestArchive.make(partitions.length);
  const placed =
    (partition: number) =>
    ([key, time]: [string, number]) =>
      ({ topic: 'riders', ...rider(key, startMs + time), partition }) as const;
  await archive.write(partitions.flatMap((records, i) => records.map(placed(i))));
  return archive;
}
