import { existsSync, mkdirSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/**
 * Creates a folder and its missing parents. Throws with the folder, `what` it is for, and the system's `code`. Node's
 * own `recursive` option loops forever, in one call that no signal ends, where a file system takes no folders: /proc.
 */
export function makeFolder(path: string, what: string, mode = 0o777): void {
  const missing: string[] = [];
  for (let folder = resolve(path); !existsSync(folder); folder = dirname(folder)) missing.push(folder);
  for (const folder of missing.reverse()) {
    try {
      mkdirSync(folder, { mode });
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      // Another process created it at the same moment.
      if (code === 'EEXIST' && existsSync(folder)) continue;
      const message = `Cannot make the folder ${path}: ${code} at ${folder}; ${what}: name one that can be made`;
      throw Object.assign(new Error(message), { code });
    }
  }
}
