import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/** Writes a file atomically and durably: after a crash there is either the old file or the new one. */
export function writeAtomically(path: string, bytes: string | Buffer): void {
  const temporary = join(dirname(path), `.${basename(path)}.new`);
  try {
    const fd = openSync(temporary, 'w');
    try {
      const data = Buffer.from(bytes);
      for (let written = 0; written < data.length; ) written += writeSync(fd, data, written);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    renameSync(temporary, path);
    syncFolder(dirname(path));
  } catch (error) {
    rmSync(temporary, { force: true });
    throw writeFault(path, error);
  }
}

/** Makes the names in a folder durable. */
export function syncFolder(folder: string): void {
  const fd = openSync(folder, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** The system's error does not name the file. */
export function writeFault(path: string, error: unknown): Error {
  const { code, message } = error as NodeJS.ErrnoException;
  const full = code === 'ENOSPC' || code === 'EDQUOT' ? '; make room on its disk, and call the command again' : '';
  return Object.assign(new Error(`Cannot write ${path}: ${message}${full}`, { cause: error }), { code });
}
