import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Creates a folder and its missing parents, for their owner alone: archives hold what riders published and secret
 * places, DATA_DIR the signing keys. Files follow the umask, so that an operator who opens the folders to others need
 * not do it again after each save. Throws with the folder, `what` it is for, and the system's `code`.
 */
export function makeFolder(path: string, what: string): void {
  try {
    makeWithParents(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw Object.assign(new Error(`Cannot make the folder ${path}: ${code}; ${what}: name one that can be made`), {
      code,
    });
  }
}

/** Node's own `recursive` never ends where a folder that is there takes no new one, as /proc does: it says ENOENT. */
function makeWithParents(path: string): void {
  if (existsSync(path)) return void mkdirSync(path, { recursive: true }); // EEXIST if it is a file
  const parent = dirname(path);
  if (!existsSync(parent)) makeWithParents(parent);
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // Another process made it meanwhile.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || !existsSync(path)) throw error;
  }
}
