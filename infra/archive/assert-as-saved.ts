import { existsSync } from 'node:fs';
import { topicNames } from '../../schemas/events/records.ts';
import { ArchiveError, archiveFolder } from './archive-files.ts';
import { isForgetting } from './archive-journal.ts';
import { type ArchiveManifest, readManifest } from './archive-manifest.ts';
import { inspectSettled } from './inspect-settled.ts';
import { notAsSaved } from './not-as-saved.ts';
import type { ArchiveProblem, Reading } from './partition-inspection.ts';

export interface AsSavedOptions {
  dir: string;
  /** The prefix of the folders that will be read. */
  prefix: string;
  /** For messages: load, read. */
  verb: string;
  /** For messages: what the command did, and what to do. */
  fix: string;
  /** What to read if there is no manifest, which would say what belongs to the archive. */
  withoutManifest: Reading;
  signal: AbortSignal;
}

/**
 * Throws ArchiveError that names the file if an archive differs from its manifest (docs/rules.md#archive-read). Every
 * file's hash is compared, which takes a small part of the time for reading it. Returns what a killed save wrote after
 * its manifest: it is complete, but nothing vouches for it.
 */
export async function assertAsSaved(options: AsSavedOptions): Promise<ArchiveProblem[]> {
  const { dir, prefix, verb, fix, withoutManifest, signal } = options;
  if (withoutManifest === 'none' && !isForgetting(dir) && !readManifest(dir)) return [];
  const { manifest, problems } = await inspectSettled({
    dir,
    wantedPrefix: prefix,
    read: (said) => (said ? 'none' : withoutManifest),
    verb: `${verb} the archive`,
    signal,
  });
  if (manifest) assertSamePrefix(dir, prefix, manifest, verb);
  const [unfinished, wrong] = [true, false].map((is) => problems.filter(({ kind }) => (kind === 'unfinished') === is));
  // A rider may be half forgotten.
  if (isForgetting(dir)) throw notAsSaved(dir, problems, fix, verb);
  if (wrong!.length > 0) throw notAsSaved(dir, wrong!, fix, verb);
  return unfinished!;
}

/** A manifest says nothing about folders of another prefix beside its own. */
function assertSamePrefix(dir: string, prefix: string, manifest: ArchiveManifest, verb: string): void {
  if (manifest.prefix === prefix || !topicNames.some((topic) => existsSync(archiveFolder(dir, prefix, topic)))) return;
  throw new ArchiveError(
    `Cannot ${verb} the archive ${dir}: its manifest.json is of the folders ${manifest.prefix}…, not of ${prefix}…; move either to a folder of its own`,
  );
}
