import { existsSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { manifestName } from './archive-manifest.ts';
import { syncFolder, writeAtomically } from './write-atomically.ts';

/**
 * Replaces several files of an archive atomically. The new files are written beside the old ones, the new manifest
 * last. Then each replaces its old file, the manifest last again. If a process is killed, its work is undone if there is
 * no new manifest yet, and finished if there is one.
 */
const suffix = '.forgotten';

/** Where the new version of a file is written. */
export const replacementPath = (path: string): string => join(dirname(path), `.${basename(path)}${suffix}`);

/** The new manifest, which says that all other new files are there. It is empty for an archive without a manifest. */
export const journalPath = (dir: string): string => replacementPath(join(dir, manifestName));

/** Whether a killed process left the archive between two states. */
export const isForgetting = (dir: string): boolean => existsSync(journalPath(dir));

/** Replaces files by their new versions, which must be durable, and the manifest (docs/rules.md#archive-forget). */
export function replaceFiles(dir: string, manifest: string): void {
  writeAtomically(journalPath(dir), manifest);
  finishForgetting(dir);
}

/** Finishes or undoes what a killed process began (docs/rules.md#archive-forget). The caller holds the archive's lock. */
export function finishForgetting(dir: string): void {
  const isComplete = isForgetting(dir);
  for (const entry of readdirSync(dir, { withFileTypes: true })) {
    if (entry.isDirectory()) finishFolder(join(dir, entry.name), isComplete);
  }
  if (!isComplete) return;
  if (statSync(journalPath(dir)).size > 0) renameSync(journalPath(dir), join(dir, manifestName));
  else rmSync(journalPath(dir));
  syncFolder(dir);
}

function finishFolder(folder: string, isComplete: boolean): void {
  const names = readdirSync(folder).filter((name) => name.startsWith('.') && name.endsWith(suffix));
  for (const name of names) {
    if (isComplete) renameSync(join(folder, name), join(folder, name.slice(1, -suffix.length)));
    else rmSync(join(folder, name));
  }
  if (names.length > 0) syncFolder(folder);
}
