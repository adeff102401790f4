import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { topicNames } from '../../../schemas/events/records.ts';
import { ArchiveError, archiveFolder, archivePrefix, linkProblem, linksIn } from '../format/archive-files.ts';
import { isForgetting, journalPath } from '../format/archive-journal.ts';
import { lockHolder } from '../format/archive-lock.ts';
import { type ArchiveManifest, manifestName, readManifest } from '../format/archive-manifest.ts';
import { type ArchiveInspection, type InspectOptions, inspectArchive } from './inspect-archive.ts';
import { type ArchiveProblem, notAsSaved, type Reading } from './partition-inspection.ts';

interface CheckOptions extends Pick<InspectOptions, 'dir' | 'signal' | 'onProgress'> {
  /** The prefix to choose if there are folders of several. If absent: the manifest's prefix, or that of the folders. */
  wantedPrefix: string;
  read: Reading;
  /** For messages: check, load, read. */
  verb: string;
}

export interface CheckedArchive extends Omit<ArchiveInspection, 'partitions'> {
  manifest: ArchiveManifest | null;
}

/**
 * Inspects an archive (docs/rules.md#archive-check). It is no problem if a save is writing it meanwhile. Throws
 * ArchiveError while `archive forget` rewrites the archive.
 */
export async function checkArchive(options: CheckOptions): Promise<CheckedArchive> {
  const { dir, wantedPrefix, read, verb, signal, onProgress } = options;
  const holder = lockHolder(dir);
  if (holder?.command === 'archive forget') {
    throw new ArchiveError(
      `Cannot ${verb} ${dir}: archive forget (process ${holder.pid}) is rewriting it; wait for it`,
    );
  }
  const links = linksIn(dir).map((file) => ({ file, kind: 'foreign' as const, problem: `it ${linkProblem}` }));
  // What a link points to is not read.
  if (links.length > 0) return { manifest: null, problems: links, files: 0, records: 0, rejected: 0 };
  const beingWritten = holder !== null;
  const { manifest, problems } = manifestOf(dir, beingWritten);
  const prefix = manifest?.prefix ?? (await archivePrefix(dir, wantedPrefix));
  const reading = { dir, prefix, manifest, read, beingWritten, signal };
  const found = await inspectArchive({ ...reading, ...(onProgress && { onProgress }) });
  return { ...found, manifest, problems: [...problems, ...found.problems] };
}

/** Whether the archive was saved from a log, and no save has come to the end of it. */
const isHalfSaved = ({ log, saved_until }: ArchiveManifest): boolean => log !== null && saved_until === null;

const halfSaved = (dir: string): ArchiveProblem => ({
  file: join(dir, manifestName),
  kind: 'unfinished',
  problem: 'its first save was stopped before the end of the log; archive save goes on with it',
});

function manifestOf(dir: string, isWritten: boolean): { manifest: ArchiveManifest | null; problems: ArchiveProblem[] } {
  const problems: ArchiveProblem[] = [];
  if (isForgetting(dir)) {
    const problem = 'archive forget was ended by force: call it again, and it finishes';
    problems.push({ file: journalPath(dir), kind: 'unfinished', problem });
  }
  try {
    const manifest = readManifest(dir);
    if (manifest && isHalfSaved(manifest) && !isWritten) problems.push(halfSaved(dir));
    return { manifest, problems };
  } catch (error) {
    if (!(error instanceof ArchiveError)) throw error;
    problems.push({ file: join(dir, manifestName), kind: 'altered', problem: error.message });
    return { manifest: null, problems };
  }
}

interface AsSavedOptions {
  dir: string;
  /** The prefix of the folders that will be read. */
  prefix: string;
  /** For messages: load, read. */
  verb: string;
  /** For messages: what the command did, and what to do. */
  fix: string;
  signal: AbortSignal;
}

/**
 * Throws ArchiveError that names the file if an archive differs from its manifest (docs/rules.md#archive-read). Every
 * file's hash is compared, which takes a small part of the time for reading it. Returns the files that a
 * killed save wrote after its last manifest: their records are complete, but no hash covers them.
 */
export async function assertAsSaved(options: AsSavedOptions): Promise<ArchiveProblem[]> {
  const { dir, prefix, verb, fix, signal } = options;
  if (!isForgetting(dir) && !readManifest(dir)) return [];
  const { manifest, problems } = await checkArchive({
    dir,
    wantedPrefix: prefix,
    read: 'none',
    verb: `${verb} the archive`,
    signal,
  });
  if (manifest) assertSamePrefix(dir, prefix, manifest, verb);
  // Some files may still name the rider.
  if (isForgetting(dir)) throw notAsSaved(dir, problems, fix, verb);
  const wrong = problems.filter(({ kind }) => kind !== 'unfinished');
  if (wrong.length > 0) throw notAsSaved(dir, wrong, fix, verb);
  return problems;
}

/** Throws if the folders to read have another prefix than the manifest's: it says nothing about them. */
function assertSamePrefix(dir: string, prefix: string, manifest: ArchiveManifest, verb: string): void {
  if (manifest.prefix === prefix || !topicNames.some((topic) => existsSync(archiveFolder(dir, prefix, topic)))) return;
  throw new ArchiveError(
    `Cannot ${verb} the archive ${dir}: its manifest.json is of the folders ${manifest.prefix}…, not of ${prefix}…; move either to a folder of its own`,
  );
}
