import { existsSync, mkdtempSync, readdirSync, renameSync, rmdirSync, rmSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { makeFolder } from '../../../infra/archive/format/make-folder.ts';
import { syncFolder, writeFault } from '../../../infra/archive/format/write-atomically.ts';

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
  readonly #drop = (): void => {
    rmSync(this.path, { recursive: true, force: true });
    if (this.#isNew && existsSync(this.#dir) && readdirSync(this.#dir).length === 0) rmdirSync(this.#dir);
  };

  /** `dir` is missing or empty. */
  constructor(dir: string) {
    this.#dir = resolve(dir);
    this.#isNew = !existsSync(this.#dir);
    makeFolder(this.#dir, 'the export');
    this.path = writing(dir, () => mkdtempSync(join(this.#dir, '.unfinished-')));
    process.once('exit', this.#drop);
  }

  /** Moves the files to the folder, the one named `last` after the others. */
  publish(last: string): void {
    writing(this.#dir, () => {
      const others = readdirSync(this.#dir).filter((name) => name !== basename(this.path));
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
