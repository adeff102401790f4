import { existsSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { makeFolder } from '../../../infra/archive/make-folder.ts';
import { syncFolder, writeFault } from '../../../infra/archive/write-atomically.ts';

/** Writes something. What the system then says names the file and the fix. */
export function writing<T>(path: string, write: () => T): T {
  try {
    return write();
  } catch (error) {
    throw writeFault(path, error);
  }
}

/** A folder that is being written, and takes its place when it is whole. Until then it has another name. */
export class DraftFolder {
  readonly path: string;
  readonly #dir: string;
  readonly #isInside: boolean;
  readonly #drop = (): void => rmSync(this.path, { recursive: true, force: true });

  /** `dir` is missing or empty. */
  constructor(dir: string) {
    this.#dir = resolve(dir);
    // A folder that is there may be a mount, which no other folder can replace.
    this.#isInside = existsSync(this.#dir);
    const parent = dirname(this.#dir);
    if (!this.#isInside) makeFolder(parent, 'the export');
    // On the same disk, so that files are moved and not copied.
    const name = this.#isInside ? join(this.#dir, '.unfinished-') : join(parent, `.${basename(dir)}.unfinished-`);
    this.path = writing(dir, () => mkdtempSync(name));
    process.once('exit', this.#drop);
  }

  /** Puts it in its place; a folder that is there gets the file named `last` after the others. */
  publish(last: string): void {
    writing(this.#dir, () => {
      if (this.#isInside) this.#moveFiles(last);
      else {
        renameSync(this.path, this.#dir);
        syncFolder(dirname(this.#dir));
      }
    });
    process.off('exit', this.#drop);
  }

  /** Removes it, if it has not taken its place. */
  drop(): void {
    this.#drop();
    process.off('exit', this.#drop);
  }

  #moveFiles(last: string): void {
    const others = readdirSync(this.#dir).filter((name) => name !== basename(this.path));
    if (others.length > 0) throw new Error(`it has been filled meanwhile (${others[0]}); name a new or empty folder`);
    const files = readdirSync(this.path).sort((a, b) => Number(a === last) - Number(b === last));
    for (const file of files) renameSync(join(this.path, file), join(this.#dir, file));
    this.#drop();
    syncFolder(this.#dir);
  }
}
