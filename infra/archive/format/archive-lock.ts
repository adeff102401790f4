import { randomBytes } from 'node:crypto';
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { writeFault } from './write-atomically.ts';

interface LockHolder {
  pid: number;
  host: string;
  /** When the process started, in the system's ticks: another process may later get the same id. */
  started: string | null;
  /** The command, such as `archive save`. */
  command: string;
  since: string;
}

const lockName = '.lock';

/**
 * Locks an archive for one writer, with a file that has its process id. The lock of a process that has ended is
 * ignored. Throws if another process has the lock. Call the returned function to unlock.
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
  try {
    writeLock(temporary, mine);
    for (;;) {
      // A link fails if the name exists, and its content is complete from the first moment.
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

function writeLock(path: string, holder: LockHolder): void {
  try {
    writeFileSync(path, JSON.stringify(holder));
  } catch (error) {
    throw writeFault(path, error);
  }
}

/** The process that writes the archive now. Null if there is none. */
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

/** Null: the lock cannot be read. Undefined: there is none. */
function read(path: string): LockHolder | null | undefined {
  try {
    const { pid, host, started, command, since } = JSON.parse(readFileSync(path, 'utf8'));
    return { pid: Number(pid), host: String(host), started, command: String(command), since: String(since) };
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? undefined : null;
  }
}

/** Processes of another machine or container cannot be seen from here, so they count as alive. */
function isAlive(holder: LockHolder | null): boolean {
  if (holder === null || !Number.isSafeInteger(holder.pid) || holder.pid < 1) return false;
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

/** Removes a dead process's lock, but not another lock that has replaced it meanwhile. */
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

function locked(path: string, holder: LockHolder | null, command: string): Error {
  const { pid, host, command: other, since } = holder!;
  const fix = host === hostname() ? 'wait for it, or stop it' : `stop it, or remove ${path} if that process is no more`;
  return new Error(
    `Cannot run ${command}: ${other} (process ${pid} on ${host}) has been writing this archive since ${since}; ${fix}`,
  );
}
