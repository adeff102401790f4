import { randomBytes } from 'node:crypto';
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';

/** Who writes an archive. */
export interface LockHolder {
  pid: number;
  host: string;
  /** When the process started, in the system's own ticks: another process may get the same id later. */
  started: string | null;
  /** Such as `archive save`. */
  command: string;
  since: string;
}

/** Another process writes the archive. The message names it, and the fix. */
export class ArchiveLockedError extends Error {
  override name = 'ArchiveLockedError';
}

export const lockName = '.lock';

/**
 * Takes an archive for one writer: a file with its process id. The lock of a process that has ended counts for nothing.
 * Throws ArchiveLockedError. Call what it answers to give the lock back.
 */
export function lockArchive(dir: string, command: string): () => void {
  const path = join(dir, lockName);
  const mine: LockHolder = {
    pid: process.pid,
    host: hostname(),
    started: startedAt(process.pid),
    command,
    since: new Date().toISOString(),
  };
  const temporary = join(dir, `.lock.${process.pid}.${randomBytes(4).toString('hex')}`);
  writeFileSync(temporary, JSON.stringify(mine));
  try {
    for (;;) {
      // A link fails where the name is taken, and its content is there from the first moment.
      if (link(temporary, path)) break;
      const holder = read(path);
      if (holder === undefined) continue;
      if (isAlive(holder)) throw locked(path, holder, command);
      takeAway(path, holder);
    }
  } finally {
    rmSync(temporary, { force: true });
  }
  return () => rmSync(path, { force: true });
}

/** Who writes the archive now; null where nobody does. */
export function lockHolder(dir: string): LockHolder | null {
  const holder = read(join(dir, lockName));
  return holder && isAlive(holder) ? holder : null;
}

function link(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** null: what it says can't be read; undefined: there is none. */
function read(path: string): LockHolder | null | undefined {
  try {
    const { pid, host, started, command, since } = JSON.parse(readFileSync(path, 'utf8'));
    return { pid: Number(pid), host: String(host), started, command: String(command), since: String(since) };
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? undefined : null;
  }
}

/** Of another machine, or another container, nothing can be seen from here: it counts as alive. */
function isAlive(holder: LockHolder | null): boolean {
  if (holder === null || !Number.isSafeInteger(holder.pid) || holder.pid < 1) return false;
  if (holder.host !== hostname()) return true;
  try {
    process.kill(holder.pid, 0);
  } catch (error) {
    // EPERM: it is there, and somebody else's.
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false;
  }
  const started = startedAt(holder.pid);
  return started === null || holder.started === null || started === holder.started;
}

/** Field 22 of /proc/<pid>/stat; the name before it may hold spaces. Null where the system has no such file. */
function startedAt(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? null;
  } catch {
    return null;
  }
}

/** Removes a dead process's lock, and no other that came in its place meanwhile. */
function takeAway(path: string, dead: LockHolder | null): void {
  const aside = `${path}.${randomBytes(4).toString('hex')}`;
  try {
    renameSync(path, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  if (JSON.stringify(read(aside)) !== JSON.stringify(dead)) link(aside, path);
  rmSync(aside, { force: true });
}

function locked(path: string, holder: LockHolder | null, command: string): ArchiveLockedError {
  const { pid, host, command: other, since } = holder!;
  const fix = host === hostname() ? 'wait for it, or stop it' : `stop it, or remove ${path} if that process is no more`;
  return new ArchiveLockedError(
    `Cannot run ${command}: ${other} (process ${pid} on ${host}) has been writing this archive since ${since}; ${fix}`,
  );
}
