import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { AnyRecord, TopicName } from '../../schemas/events/records.ts';
import { archiveSink } from '../../services/simulate/sinks.ts';

/** A record to publish; `value` null is a tombstone. */
export interface BenchRecord {
  topic: TopicName;
  key: string;
  value: AnyRecord | null;
}

/** Takes an archive's manifest away, whose form is its version's own: every version reads an archive without one. */
export const forAnyVersion = (dir: string): Promise<void> => rm(join(dir, 'manifest.json'));

/** Writes a world to an archive, which any version reads. */
export async function writeWorld(dir: string, world: Iterable<BenchRecord>): Promise<void> {
  const sink = archiveSink({ dir, prefix: 'ride-calendar.' });
  for (const record of world) await sink.add({ ...record, timestampMs: 1 } as Parameters<typeof sink.add>[0]);
  await sink.complete();
  await sink.close();
  await forAnyVersion(dir);
}
