import { readdir } from 'node:fs/promises';
import { UsageError } from './io.ts';

/** Throws UsageError unless the folder is absent or has nothing in it: an archive is never mixed with another. */
export async function needEmptyFolder(dir: string, command: string): Promise<void> {
  let names: string[];
  try {
    names = await readdir(dir);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return;
    throw new UsageError(
      `Cannot run ${command}: the folder ${dir} can't be read (${code}), want a new or empty folder`,
    );
  }
  if (names.length > 0) throw new UsageError(`Cannot run ${command}: ${dir} is not empty, want a new or empty folder`);
}
