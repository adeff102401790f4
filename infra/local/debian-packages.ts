import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The full path of a command on PATH, or null. */
async function findCommand(command: string): Promise<string | null> {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    const path = join(folder, command);
    try {
      await access(path, constants.X_OK);
      return path;
    } catch {
      // It is not there.
    }
  }
  return null;
}

let installing: Promise<void> = Promise.resolve();

const serverAdvice = 'start a container engine, or set KAFKA_BROKERS and REDIS_URL';

/**
 * Makes sure that `command` is on PATH. If it is missing, installs Debian's `debianPackage`, if the user may (root, or
 * sudo without a password). Otherwise throws an error that says what to install, or to do instead.
 */
export async function needCommand(command: string, debianPackage: string, instead = serverAdvice): Promise<void> {
  await needPackage({
    name: command,
    debianPackage,
    instead,
    isThere: async () => (await findCommand(command)) !== null,
  });
}

interface WantedPackage {
  /** The name of what is needed, for people. */
  name: string;
  debianPackage: string;
  /** The alternative, in words that follow "or". */
  instead: string;
  isThere(): Promise<boolean>;
}

/** The same for something that is not a command. */
export async function needPackage(wanted: WantedPackage): Promise<void> {
  // One at a time: apt-get takes a lock.
  const mine = installing.then(() => install(wanted));
  installing = mine.catch(() => undefined);
  await mine;
}

async function install({ name, debianPackage, instead, isThere }: WantedPackage): Promise<void> {
  if (await isThere()) return;
  const advice = `install it (Debian's package is ${debianPackage}), or ${instead}`;
  const asRoot = process.getuid?.() === 0 ? [] : ['sudo', '-n'];
  const apt = [...asRoot, 'env', 'DEBIAN_FRONTEND=noninteractive', 'apt-get', '-o', 'DPkg::Lock::Timeout=300'];
  try {
    if (!(await findCommand('apt-get'))) throw new Error('there is no apt-get');
    for (const args of [['update'], ['install', '-y', '--no-install-recommends', debianPackage]]) {
      await run(apt[0]!, [...apt.slice(1), '-qq', ...args], { timeout: 300_000, maxBuffer: 1 << 26 });
    }
  } catch (cause) {
    throw new Error(`Cannot find ${name}: ${advice}`, { cause });
  }
  if (!(await isThere())) throw new Error(`Cannot find ${name} after installing ${debianPackage}: ${advice}`);
}
