import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** A server process of ours on this machine. It ends with this process, however this process ends. */
export interface LocalProcess {
  pid: number;
  /** The last 20 kB of its output. */
  output(): string;
  hasExited(): boolean;
  /** Sends the signal and waits for the end. SIGKILL after a minute. */
  end(signal: NodeJS.Signals): Promise<void>;
}

const outputBytesMax = 20_000;
const endDelayMs = 60_000;
const upMsMax = 60_000;

/**
 * Starts `command` in its own process group, so that Ctrl-C in a terminal reaches us first. A watchdog ends it with
 * us: a shell that holds one end of a pipe to us. When this process is gone, even by SIGKILL, the pipe closes. Then the
 * shell kills the group and removes `temporaryFolder`. A signal goes to the group too: a forked Redis would write on.
 */
export async function startLocalProcess(
  command: string,
  args: readonly string[],
  { cwd, temporaryFolder = '' }: { cwd: string; temporaryFolder?: string },
): Promise<LocalProcess> {
  const child = spawn(command, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  await once(child, 'spawn');
  const pid = child.pid!;
  const script = 'cat >/dev/null; kill -9 "-$1"; [ -z "$2" ] || rm -rf -- "$2"';
  const shell = ['-c', script, 'sh', String(pid), temporaryFolder];
  const watchdog = spawn('sh', shell, { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
  watchdog.stdin.on('error', () => undefined);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-outputBytesMax);
    });
  }
  const hasExited = () => child.exitCode !== null || child.signalCode !== null;
  child.once('exit', () => watchdog.kill('SIGKILL'));
  // None of them keeps this process alive.
  const pipes = [child.stdout, child.stderr, watchdog.stdin] as unknown as Socket[];
  for (const each of [child, watchdog, ...pipes]) each.unref();
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    if (hasExited()) return;
    child.ref();
    const exited = once(child, 'exit');
    const timer = setTimeout(() => process.kill(-pid, 'SIGKILL'), endDelayMs);
    process.kill(-pid, signal);
    await exited;
    clearTimeout(timer);
  };
  return { pid, output: () => output, hasExited, end };
}

/** Starts a server, and waits until it prints that it is `up`. Throws with its output if it ends first. */
export async function launch(name: string, command: string, args: readonly string[], up: string, folder: string) {
  const server = await startLocalProcess(command, args, { cwd: folder, temporaryFolder: folder });
  const deadline = performance.now() + upMsMax;
  while (!server.output().includes(up)) {
    if (server.hasExited()) throw new Error(`Cannot start ${name}: it ended at once. It printed:\n${server.output()}`);
    if (performance.now() > deadline) {
      await server.end('SIGKILL');
      throw new Error(`Cannot start ${name}: it is not up after ${upMsMax} ms. It printed:\n${server.output()}`);
    }
    await sleep(50);
  }
  return server;
}

/** A server with a port and data of its own, which a test may kill and start again. */
export interface LocalServer {
  /** Holds its data. */
  folder: string;
  pid: number;
  /** SIGKILL, like a crash. Port and data stay for `start`. */
  kill(): Promise<void>;
  /** Starts it again after `kill`, on the same port and data. */
  start(): Promise<void>;
  /** Stops it and removes its data. */
  stop(): Promise<void>;
}

/**
 * Starts a server with its data in a temporary folder. `prepare` fills that, and says what to run and what the server prints
 * once it is up.
 */
export async function startLocalServer(
  name: string,
  prepare: (folder: string) => Promise<{ command: string; args: readonly string[]; up: string }>,
): Promise<LocalServer> {
  const folder = await mkdtemp(join(tmpdir(), `ride-calendar-${name}-`));
  // Who was forked by the server ends with it, but a moment later perhaps.
  const remove = () => rm(folder, { recursive: true, force: true, maxRetries: 20 });
  try {
    const { command, args, up } = await prepare(folder);
    let server: LocalProcess;
    const start = async () => {
      server = await launch(name, command, args, up, folder);
    };
    await start();
    const kill = () => server.end('SIGKILL');
    return {
      folder,
      get pid() {
        return server.pid;
      },
      kill,
      start,
      // Its data is removed too, so there is nothing to shut down cleanly, and a frozen server would not shut down.
      stop: () => kill().then(remove),
    };
  } catch (error) {
    await remove();
    throw error;
  }
}
