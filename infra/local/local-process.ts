import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';

/** A server process of ours on this machine. It ends with this process, however this process ends. */
export interface LocalProcess {
  pid: number;
  /** The last 20 kB of its output. */
  output(): string;
  hasExited(): boolean;
  /** Sends the signal and waits for the end. SIGKILL after 10 s. */
  end(signal: NodeJS.Signals): Promise<void>;
}

const outputBytesMax = 20_000;
const endDelayMs = 10_000;

/**
 * Starts `command` in its own process group, so that Ctrl-C in a terminal reaches us first. A shell that holds one end
 * of a pipe to us watches it: when this process is gone, even by SIGKILL, the pipe closes, and the shell kills the
 * server and removes `temporaryFolders`.
 */
export async function startLocalProcess(
  command: string,
  args: readonly string[],
  options: { cwd: string; env?: NodeJS.ProcessEnv; temporaryFolders?: readonly string[] },
): Promise<LocalProcess> {
  const child = spawn(command, args, {
    cwd: options.cwd,
    env: options.env ?? process.env,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  await once(child, 'spawn');
  const pid = child.pid!;
  const watchdog = watch(pid, options.temporaryFolders ?? []);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-outputBytesMax);
    });
  }
  const hasExited = () => child.exitCode !== null || child.signalCode !== null;
  child.once('exit', () => watchdog.kill('SIGKILL'));
  // Neither keeps this process alive.
  child.unref();
  for (const stream of [child.stdout, child.stderr]) (stream as unknown as { unref(): void }).unref();
  return { pid, output: () => output, hasExited, end: (signal) => end(child, hasExited, signal) };
}

function watch(pid: number, folders: readonly string[]): ChildProcess {
  const script = 'cat >/dev/null; kill -9 "$1"; shift; [ $# -eq 0 ] || rm -rf -- "$@"';
  const watchdog = spawn('sh', ['-c', script, 'sh', String(pid), ...folders], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  watchdog.unref();
  (watchdog.stdin as unknown as { unref(): void }).unref();
  watchdog.stdin.on('error', () => undefined);
  return watchdog;
}

async function end(child: ChildProcess, hasExited: () => boolean, signal: NodeJS.Signals): Promise<void> {
  if (hasExited()) return;
  child.ref();
  const exited = once(child, 'exit');
  const timer = setTimeout(() => child.kill('SIGKILL'), endDelayMs);
  child.kill(signal);
  await exited;
  clearTimeout(timer);
}
