import { dirname } from 'node:path';
import { assertAsSaved } from '../../infra/archive/checking/check-archive.ts';
import { ArchiveError } from '../../infra/archive/format/archive-files.ts';
import { Stop } from '../../projector/running/stop.ts';
import { SettingsError } from '../settings/settings.ts';

/**
 * Checks that an archive to be served matches its manifest: if a file were missing, its answers would be wrong, and
 * nobody would know. Throws SettingsError. An archive without a manifest is read as it is, and so is what was written
 * after the manifest. `named`: what names the archive, for messages. Returns whether it holds more than its manifest says:
 * then nobody knows whose records those are.
 */
export async function assertReadable(
  dir: string,
  prefix: string,
  isSample: boolean,
  log: { warn(message: string): void },
  named: 'ARCHIVE_DIR' | '--archive' = 'ARCHIVE_DIR',
): Promise<boolean> {
  const fix = isSample
    ? `DATA_DIR: remove ${dirname(dir)}, and it is made anew`
    : `${named}: put it back from a copy, or remove its manifest.json to have it read as it is`;
  const { signal } = new Stop();
  try {
    const [first, ...more] = await assertAsSaved({ dir, prefix, command: named, signal }, 'read', fix);
    if (!first) return false;
    // A save that was killed leaves one for each partition.
    const others = more.length > 0 ? ` (and ${more.length} more: ride-calendar archive check ${dir})` : '';
    log.warn(`${first.file}: ${first.problem}${others}. It is read as well`);
    return true;
  } catch (error) {
    if (!(error instanceof ArchiveError)) throw error;
    throw new SettingsError([error.message]);
  }
}
