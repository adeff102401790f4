import { readdir } from 'node:fs/promises';
import { prefixesOf } from '../../infra/archive/format/archive-files.ts';
import { isOfDraft } from './draft-folder.ts';
import { UsageError } from './io.ts';

/** Throws UsageError unless the folder is missing or empty, but for what a killed command left: archives are never mixed. */
export async function needEmptyFolder(dir: string, command: string): Promise<void> {
  const want = 'a new or empty folder';
  const [name, ...others] = (await namesIn(dir, command, want)).filter((one) => !isOfDraft(one)).sort();
  if (name === undefined) return;
  // A name that begins with a dot is easily overlooked.
  const more = others.length > 0 ? ` and ${others.length} more` : '';
  throw new UsageError(`Cannot run ${command}: ${dir} is not empty (it holds ${name}${more}), want ${want}`);
}

/** Throws UsageError unless the folder is missing, empty or an archive with this prefix: a name may be mistyped. */
export async function needArchiveFolder(dir: string, command: string, prefix: string): Promise<void> {
  const want = 'a new or empty folder, or an archive saved before';
  const names = (await namesIn(dir, command, want)).filter((name) => !name.startsWith('.'));
  if (names.length === 0 || names.some((name) => name.startsWith(prefix))) return;
  const others = prefixesOf(names);
  const fix = others.length > 0 ? ` (with KAFKA_TOPIC_PREFIX ${others.join(' or ')} it is one)` : '';
  throw new UsageError(`Cannot run ${command}: ${dir} holds other files, want ${want}${fix}`);
}

/** Throws UsageError for an empty name. To the system it is the current folder, to the user an unset variable. */
export function needFolderName(dir: string, command: string, want = 'the folder of an archive'): void {
  if (dir.trim() !== '') return;
  throw new UsageError(`Cannot run ${command}: the folder's name is empty (an unset variable?), want ${want}`);
}

async function namesIn(dir: string, command: string, want: string): Promise<string[]> {
  needFolderName(dir, command, want);
  try {
    return await readdir(dir);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return [];
    throw new UsageError(`Cannot run ${command}: the folder ${dir} can't be read (${code}), want ${want}`);
  }
}
