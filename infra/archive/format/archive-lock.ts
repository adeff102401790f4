import { randomBytes } from 'node:crypto';
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { foreignText } from '../../../projector/running/foreign-text.ts';
import { writeFault } from './write-atomically.ts';

export const lockName = '.lock';

interface LockHolder {
  pid: number;
  host: string;
  /** When the process started, in the system's ticks: another process may later get the same id. */
  started: string | null;
  /** The command, such as `archive save`. */
  command: string;
  since: string;
}

/**
 * Locks an archive, or another folder that is written, for one writer, with a file that has its process id. The lock of a process that has ended is
 * ignored. Throws if another process has the lock. Call the returned function to unlock.
 */
export function lockArchive(dir: string, command: string): () => void {
  const path = join(dir, lockName);
  const since = new Date().toISOString();
  const mine: LockHolder = { pid: process.pid, host: hostname(), started: startedAt(process.pid), command, since };
  const temporary = join(dir, `.lock.${process.pid}.${randomBytes(4).toString('hex')}`);
  try {
    writeFileSync(temporary, JSON.stringify(mine));
    while (!link(temporary, path)) {
      const holder = read(path);
      if (holder && isAlive(holder)) throw locked(path, holder, command);
      rmSync(path, { force: true });
    }
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code ? writeFault(path, error) : error;
  } finally {
    rmSync(temporary, { force: true });
  }
  return () => rmSync(path, { force: true });
}

/** A link fails if the name exists, and its content is complete from the first moment. */
function link(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** Null if there is no lock, or none that can be read. */
function read(path: string): LockHolder | null {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as LockHolder;
  } catch {
    return null;
  }
}

/** Processes of another machine or container cannot be seen from here, so they count as alive. */
function isAlive(holder: LockHolder): boolean {
  if (holder.host !== hostname()) return true;
  try {
    process.kill(holder.pid, 0);
  } catch (error) {
    // EPERM: the process exists, and belongs to another user.
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false;
  }
  const started = startedAt(holder.pid);
  return started === null || holder.started === null || started === holder.started;
}

/** Field 22 of /proc/<pid>/stat. The name before it may contain spaces. Null if the system has no such file. */
function startedAt(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? null;
  } catch {
    return null;
  }
}

/** Another program may have written the lock. */
function locked(path: string, holder: LockHolder, command: string): Error {
  const { host } = holder;
  const [pid, on, other, since] = [holder.pid, host, holder.command, holder.since].map((said) =>
    foreignText(`${said}`),
  );
  const fix = host === hostname() ? 'wait for it, or stop it' : `stop it, or remove ${path} if that process is no more`;
  return new Error(
    `Cannot run ${command}: ${other} (process ${pid} on ${on}) has been writing this folder since ${since}; ${fix}`,
  );
}
