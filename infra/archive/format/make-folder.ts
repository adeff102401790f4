import { mkdirSync } from 'node:fs';

/**
 * Creates a folder and its missing parents, for their owner alone: archives hold what riders published and secret
 * places, DATA_DIR the signing keys. Files follow the umask, so that an operator who opens the folders to others need
 * not do it again after each save. Throws with the folder, `what` it is for, and the system's `code`.
 */
export function makeFolder(path: string, what: string): void {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw Object.assign(new Error(`Cannot make the folder ${path}: ${code}; ${what}: name one that can be made`), {
      code,
    });
  }
}
