import { existsSync, mkdirSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/**
 * Creates a folder and its missing parents, for their owner alone: archives hold what riders published and secret
 * places, DATA_DIR the signing keys. Files follow the umask, so that an operator who opens the folders to others need
 * not do it again after each save. Throws with the folder, `what` it is for, and the system's `code`. Node's own
 * `recursive` option loops forever, in one call that no signal ends, where a file system takes no folders: /proc.
 */
export function makeFolder(path: string, what: string): void {
  const missing: string[] = [];
  for (let folder = resolve(path); !existsSync(folder); folder = dirname(folder)) missing.push(folder);
  for (const folder of missing.reverse()) {
    try {
      mkdirSync(folder, { mode: 0o700 });
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      // Another process created it at the same moment.
      if (code === 'EEXIST' && existsSync(folder)) continue;
      const message = `Cannot make the folder ${path}: ${code} at ${folder}; ${what}: name one that can be made`;
      throw Object.assign(new Error(message), { code });
    }
  }
}
