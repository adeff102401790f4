import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { archiveSink } from '../../services/simulate/sinks.ts';
import type { LoggedRecord } from '../reference/facts.ts';

/** Takes an archive's manifest away, whose form is its version's own: every version reads an archive without one. */
export const forAnyVersion = (dir: string): Promise<void> => rm(join(dir, 'manifest.json'));

/** Writes a world to an archive, which any version reads. */
export async function writeWorld(dir: string, world: Iterable<LoggedRecord>): Promise<void> {
  const sink = archiveSink({ dir, prefix: 'ride-calendar.' });
  for (const record of world) await sink.add({ ...record, timestampMs: 1 } as Parameters<typeof sink.add>[0]);
  await sink.complete();
  await sink.close();
  await forAnyVersion(dir);
}
