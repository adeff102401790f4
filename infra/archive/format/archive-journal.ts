import { existsSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { topicNames } from '../../../schemas/events/records.ts';
import { ArchiveError, archiveFolder } from './archive-files.ts';
import { manifestName } from './archive-manifest.ts';
import { syncFolder, writeAtomically } from './write-atomically.ts';

/**
 * Replaces several files of an archive atomically. The new files are written beside the old ones, then a journal names
 * them, then each replaces its old file. If a process is killed, its work is undone if there is no journal yet, and
 * finished if there is one.
 */
const journalName = '.forget.json';
const suffix = '.forgotten';

interface Journal {
  /** Paths within the archive. */
  files: string[];
  manifest: string;
}

/** Where the new version of a file is written. */
export const replacementPath = (path: string): string => join(dirname(path), `.${basename(path)}${suffix}`);

/** Replaces files by their new versions, which must be durable, and writes the new manifest (docs/rules.md#archive-forget). */
export function replaceFiles(dir: string, prefix: string, paths: readonly string[], manifest: string): void {
  const files = paths.map((path) => join(basename(dirname(path)), basename(path)));
  writeAtomically(join(dir, journalName), JSON.stringify({ files, manifest } satisfies Journal));
  finishForgetting(dir, prefix);
}

export const journalPath = (dir: string): string => join(dir, journalName);

/** Whether a killed process left the archive between two states. */
export const isForgetting = (dir: string): boolean => existsSync(journalPath(dir));

/** Finishes or undoes what a killed process began (docs/rules.md#archive-forget). The caller holds the archive's lock. */
export function finishForgetting(dir: string, prefix: string): void {
  const journal = readJournal(dir);
  if (journal) {
    const folders = new Set<string>();
    for (const file of journal.files) {
      const path = join(dir, file);
      if (existsSync(replacementPath(path))) renameSync(replacementPath(path), path);
      folders.add(dirname(path));
    }
    for (const folder of folders) syncFolder(folder);
    writeAtomically(join(dir, manifestName), journal.manifest);
    rmSync(join(dir, journalName));
    syncFolder(dir);
  }
  for (const name of [...topicNames, 'rejected']) removeReplacements(archiveFolder(dir, prefix, name));
}

/** Removes new versions that no journal names. */
function removeReplacements(folder: string): void {
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder)) {
    if (name.startsWith('.') && name.endsWith(suffix)) rmSync(join(folder, name));
  }
}

function readJournal(dir: string): Journal | null {
  const path = join(dir, journalName);
  if (!existsSync(path)) return null;
  const { files, manifest } = JSON.parse(readFileSync(path, 'utf8')) as Journal;
  const within = (file: string) => /^[^/\\]+\/[^/\\]+\.avro$/.test(file) && !file.startsWith('..');
  if (Array.isArray(files) && files.every(within) && typeof manifest === 'string') return { files, manifest };
  throw new ArchiveError(
    `Cannot read ${path}: it is not a journal of archive forget; remove it, then run archive check`,
  );
}
