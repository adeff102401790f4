import { existsSync, mkdtempSync, readdirSync, renameSync, rmdirSync, rmSync, statSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { lockArchive, lockName } from '../../infra/archive/format/archive-lock.ts';
import { makeFolder } from '../../infra/archive/format/make-folder.ts';
import { syncFolder, writeFault } from '../../infra/archive/format/write-atomically.ts';

const draftPrefix = '.unfinished-';

/** Whether a folder's entry is what a command that is at work, or was killed, has there. */
export const isOfDraft = (name: string): boolean => name === lockName || name.startsWith(draftPrefix);

/** Whether a path is a folder that holds only that: it is as good as missing to the same command. */
export function holdsOnlyDraft(path: string): boolean {
  const names = existsSync(path) && statSync(path).isDirectory() ? readdirSync(path) : [];
  return names.length > 0 && names.every(isOfDraft);
}

/** Writes something. A fault's message names the file and the fix. */
export function writing<T>(path: string, write: () => T): T {
  try {
    return write();
  } catch (error) {
    throw writeFault(path, error);
  }
}

/**
 * Files that appear in a folder once all of them are complete. Until then they are in a hidden folder within it, at `path`. `dir`
 * is missing, or `needEmptyFolder` passed it. Removes what a command that was killed left. Throws while one is at work.
 */
export function draftFolder(given: string, command: string) {
  const dir = resolve(given);
  const isNew = !existsSync(dir) || holdsOnlyDraft(dir);
  makeFolder(dir, command);
  const unlock = lockArchive(dir, command);
  for (const name of readdirSync(dir)) if (name.startsWith(draftPrefix)) rmSync(join(dir, name), { recursive: true });
  const path = writing(given, () => mkdtempSync(join(dir, draftPrefix)));
  const remove = (): void => {
    rmSync(path, { recursive: true, force: true });
    unlock();
    if (isNew && existsSync(dir) && readdirSync(dir).length === 0) rmdirSync(dir);
  };
  process.once('exit', remove);
  /** Removes the files that were not published. */
  const drop = (): void => {
    remove();
    process.off('exit', remove);
  };
  return {
    path,
    drop,
    /** Moves the files and folders to the folder, the one named `last` after the others. */
    publish(last: string): void {
      writing(dir, () => {
        const others = readdirSync(dir).filter((name) => name !== basename(path) && name !== lockName);
        if (others.length > 0)
          throw new Error(`it has been filled meanwhile (${others[0]}); name a new or empty folder`);
        const files = readdirSync(path).sort((a, b) => Number(a === last) - Number(b === last));
        for (const file of files) renameSync(join(path, file), join(dir, file));
        drop();
        syncFolder(dir);
      });
    },
  };
}
