import { type ChildProcess, fork, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { resolve as resolvePath } from 'node:path';

const canPin = process.platform === 'linux' && availableParallelism() > 1 && spawnSync('taskset', ['-V']).status === 0;

/** The core that is measured, and the one for all that is not: clients, Redis, this process. */
export const measuredCore = 0;
export const otherCore = 1;

/** Keeps a running process to one core unless that is null, where the system can. */
export function pin(pid: number, core: number | null): void {
  if (canPin && core !== null) spawnSync('taskset', ['-a', '-p', '-c', String(core), String(pid)]);
}

export interface PinnedProcess {
  pid: number;
  /** Sends a message and waits for what it answers. */
  ask<Answer>(message: object | string): Promise<Answer>;
  hasEnded(): boolean;
  /** Resolves to its exit code. */
  ended: Promise<number | null>;
  end(): Promise<void>;
}

/** Runs a file, of this folder if relative, as a process on one core, or any if null. It answers each `ask` with one message. */
export async function startPinned(
  file: string,
  args: readonly string[],
  core: number | null,
  execArgv: readonly string[] = [],
  env: NodeJS.ProcessEnv = process.env,
): Promise<PinnedProcess> {
  const child: ChildProcess = fork(resolvePath(import.meta.dirname, file), [...args], {
    execArgv: ['--disable-warning=ExperimentalWarning', ...execArgv],
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env,
  });
  const ended = once(child, 'exit').then(([code]) => code as number | null);
  await once(child, 'spawn');
  pin(child.pid!, core);
  return {
    pid: child.pid!,
    async ask<Answer>(message: object | string) {
      const failed = ended.then((code) => {
        throw new Error(`Cannot measure: ${file} ${args.join(' ')} ended with code ${code}`);
      });
      child.send(message);
      const [answer] = await Promise.race([once(child, 'message'), failed]);
      return answer as Answer;
    },
    hasEnded: () => child.exitCode !== null || child.signalCode !== null,
    ended,
    async end() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}
