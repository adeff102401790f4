import { join } from 'node:path';
import { ArchiveError, archivePrefix } from './archive-files.ts';
import { isForgetting, journalPath } from './archive-journal.ts';
import { lockHolder } from './archive-lock.ts';
import { type ArchiveManifest, manifestName, readManifest } from './archive-manifest.ts';
import { type ArchiveInspection, type InspectOptions, inspectArchive } from './inspect-archive.ts';
import type { ArchiveProblem, Reading } from './partition-inspection.ts';

export interface SettledOptions extends Pick<InspectOptions, 'dir' | 'signal' | 'onProgress'> {
  /** The prefix to choose if there are folders of several. If absent: the manifest's prefix, or that of the folders. */
  wantedPrefix: string;
  /** What to read, given the manifest or null. */
  read: (manifest: ArchiveManifest | null) => Reading;
  /** For messages: check, load, read. */
  verb: string;
}

export interface SettledInspection extends ArchiveInspection {
  manifest: ArchiveManifest | null;
}

const attemptsMax = 3;

/**
 * Inspects an archive that another process may be writing. If the manifest or the writer changed meanwhile, what looks
 * wrong is checked again. Throws ArchiveError while `archive forget` rewrites the archive.
 */
export async function inspectSettled(options: SettledOptions): Promise<SettledInspection> {
  const { dir, wantedPrefix, read, verb, signal, onProgress } = options;
  for (let attempt = 1; ; attempt++) {
    const holder = lockHolder(dir);
    if (holder?.command === 'archive forget') {
      throw new ArchiveError(
        `Cannot ${verb} ${dir}: archive forget (process ${holder.pid}) is rewriting it; wait for it`,
      );
    }
    const { manifest, problems: ofManifest } = manifestOf(dir, holder !== null);
    const prefix = manifest?.prefix ?? (await archivePrefix(dir, wantedPrefix));
    const found = await inspectArchive({
      dir,
      prefix,
      manifest,
      read: read(manifest),
      beingWritten: holder !== null,
      signal,
      ...(onProgress && { onProgress }),
    });
    const problems = [...ofManifest, ...found.problems];
    const isNewer = JSON.stringify(manifestOf(dir, true).manifest) !== JSON.stringify(manifest);
    const hasWriterNow = lockHolder(dir) !== null && holder === null;
    if (problems.length > 0 && (isNewer || hasWriterNow) && attempt < attemptsMax) continue;
    return { ...found, manifest, problems };
  }
}

/** A log has an identity, and no save of it has come to its end. */
const isHalfSaved = ({ log, saved_until }: ArchiveManifest): boolean => log !== null && saved_until === null;

const halfSaved = (dir: string): ArchiveProblem => ({
  file: join(dir, manifestName),
  kind: 'unfinished',
  problem: 'its first save was stopped before the end of the log; archive save goes on with it',
});

/** The manifest, and what is wrong with it. */
function manifestOf(dir: string, isWritten: boolean): { manifest: ArchiveManifest | null; problems: ArchiveProblem[] } {
  if (isForgetting(dir)) {
    const problem = 'archive forget was ended by force: call it again, and it finishes';
    return { manifest: readManifest(dir), problems: [{ file: journalPath(dir), kind: 'unfinished', problem }] };
  }
  try {
    const manifest = readManifest(dir);
    return { manifest, problems: manifest && isHalfSaved(manifest) && !isWritten ? [halfSaved(dir)] : [] };
  } catch (error) {
    if (!(error instanceof ArchiveError)) throw error;
    return { manifest: null, problems: [{ file: join(dir, manifestName), kind: 'altered', problem: error.message }] };
  }
}
