import { existsSync, mkdtempSync, readdirSync, renameSync, rmdirSync, rmSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { lockArchive, lockName } from '../../infra/archive/format/archive-lock.ts';
import { makeFolder } from '../../infra/archive/format/make-folder.ts';
import { syncFolder, writeFault } from '../../infra/archive/format/write-atomically.ts';

const draftPrefix = '.unfinished-';

/** Whether a folder's entry is what a command that is at work, or was killed, has there. */
export const isOfDraft = (name: string): boolean => name === lockName || name.startsWith(draftPrefix);

/** Writes something. A fault's message names the file and the fix. */
export function writing<T>(path: string, write: () => T): T {
  try {
    return write();
  } catch (error) {
    throw writeFault(path, error);
  }
}

/** Files that appear in a folder once all of them are complete. Until then they are in a hidden folder within it. */
export class DraftFolder {
  readonly path: string;
  readonly #dir: string;
  readonly #isNew: boolean;
  readonly #unlock: () => void;
  readonly #drop = (): void => {
    rmSync(this.path, { recursive: true, force: true });
    this.#unlock();
    if (this.#isNew && existsSync(this.#dir) && readdirSync(this.#dir).length === 0) rmdirSync(this.#dir);
  };

  /** `dir` is missing, or `needEmptyFolder` passed it. Removes what a command that was killed left. Throws while one is at work. */
  constructor(dir: string, command: string) {
    this.#dir = resolve(dir);
    this.#isNew = !existsSync(this.#dir);
    makeFolder(this.#dir, command);
    this.#unlock = lockArchive(this.#dir, command);
    for (const name of readdirSync(this.#dir))
      if (name.startsWith(draftPrefix)) rmSync(join(this.#dir, name), { recursive: true });
    this.path = writing(dir, () => mkdtempSync(join(this.#dir, draftPrefix)));
    process.once('exit', this.#drop);
  }

  /** Moves the files and folders to the folder, the one named `last` after the others. */
  publish(last: string): void {
    writing(this.#dir, () => {
      const others = readdirSync(this.#dir).filter((name) => name !== basename(this.path) && name !== lockName);
      if (others.length > 0) throw new Error(`it has been filled meanwhile (${others[0]}); name a new or empty folder`);
      const files = readdirSync(this.path).sort((a, b) => Number(a === last) - Number(b === last));
      for (const file of files) renameSync(join(this.path, file), join(this.#dir, file));
      this.drop();
      syncFolder(this.#dir);
    });
  }

  /** Removes the files that were not published. */
  drop(): void {
    this.#drop();
    process.off('exit', this.#drop);
  }
}
