import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

const isCommand = (name: string): Promise<boolean> =>
  run('sh', ['-c', 'command -v "$0"', name]).then(
    () => true,
    () => false,
  );

let installing: Promise<void> = Promise.resolve();

const serverAdvice = 'start a container engine, or set KAFKA_BROKERS and REDIS_URL';

/**
 * Makes sure that a program is there, by default as a command on PATH. If it is missing, installs Debian's
 * `debianPackage`, if the user may (root, or sudo without a password). Otherwise throws an error that says what to
 * install, or what to do `instead`, e.g. `set KAFKA_BROKERS`.
 */
export async function needProgram(
  name: string,
  debianPackage: string,
  instead = serverAdvice,
  isThere = () => isCommand(name),
): Promise<void> {
  // One at a time: apt-get takes a lock.
  const mine = installing.then(async () => {
    if (await isThere()) return;
    const advice = `install it (Debian's package is ${debianPackage}), or ${instead}`;
    await install(debianPackage).catch((cause: unknown) => {
      throw new Error(`Cannot find ${name}: ${advice}`, { cause });
    });
    if (!(await isThere())) throw new Error(`Cannot find ${name} after installing ${debianPackage}: ${advice}`);
  });
  installing = mine.catch(() => undefined);
  await mine;
}

async function install(debianPackage: string): Promise<void> {
  const asRoot = process.getuid?.() === 0 ? [] : ['sudo', '-n'];
  const apt = [...asRoot, 'env', 'DEBIAN_FRONTEND=noninteractive', 'apt-get', '-o', 'DPkg::Lock::Timeout=300'];
  for (const args of [['update'], ['install', '-y', '--no-install-recommends', debianPackage]])
    await run(apt[0]!, [...apt.slice(1), '-qq', ...args], { timeout: 300_000, maxBuffer: 1 << 26 });
}
