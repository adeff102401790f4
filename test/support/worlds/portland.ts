import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import avsc from 'avsc';
import { type AnyRecord, defaultTopicPrefix, topicNames } from '../../../schemas/events/records.ts';
import type { HistoryRecord } from './histories.ts';

/** The sample archive of real rides in Portland, read with avsc alone: not with the service's own decoder. */

export const portlandDirectory = fileURLToPath(new URL('../../data/portland', import.meta.url));

/** A developer key of the archive that is live, and one that was deleted (from the archive's own notes). */
export const portlandKeys = {
  live: 'rck_5ml2FsrikLQfqE0_i3yDlj77lIOxvBkcZf6c9OELtxM',
  deleted: 'rck_Y_fgeQsbLZAJr--XejvVAA2EjT8n9t0hb8u1daBvVJM',
};

/** A copy of the archive in a new folder, for a test that changes it. */
export async function copyPortland(directory: string): Promise<string> {
  await cp(portlandDirectory, directory, { recursive: true });
  return directory;
}

interface Archived {
  partition: number;
  offset: number;
  timestamp: number;
  key: string;
  value: AnyRecord | null;
}

/** Every record, topic by topic, each partition in offset order; of another archive, too. */
export async function readPortland(directory = portlandDirectory): Promise<HistoryRecord[]> {
  const records: HistoryRecord[] = [];
  for (const topic of topicNames) {
    const folder = join(directory, `${defaultTopicPrefix}${topic}`);
    // The names begin with partition and first offset, the offset in twenty digits: their order is the log's.
    for (const file of readdirSync(folder).toSorted()) {
      const decoder = avsc.createFileDecoder(join(folder, file));
      decoder.on('data', ({ partition, offset, timestamp, key, value }: Archived) => {
        records.push({ topic, partition, offset, timestampMs: timestamp, key, value });
      });
      await once(decoder, 'end');
    }
  }
  return records;
}
