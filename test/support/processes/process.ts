import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePorts } from '../../../infra/local/free-port.ts';

/** The command `ride-calendar` as processes: what a user starts, sees and kills. */

/** Far longer than a start takes, even where twenty other processes have the machine: a wait that is over tells of a fault. */
const startMsMax = 300_000;
export const root = fileURLToPath(new URL('../../..', import.meta.url));

export type Env = Record<string, string>;

export interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
  out: string;
  err: string;
}

export interface RunningService {
  /** `http://127.0.0.1:<port>` */
  readonly origin: string;
  /** The base URL: the origin and `/api`. */
  readonly api: string;
  readonly pid: number;
  /** Standard output and standard error so far. */
  out(): string;
  err(): string;
  /** Resolves when the process has ended, however it did. */
  readonly ended: Promise<Ended>;
  hasEnded(): boolean;
  /** Resolves once /readyz answers 200. Throws with all it printed when it ends before, or takes too long. */
  ready(timeoutMs?: number): Promise<this>;
  /** Resolves once it has printed something. Throws as `ready` does. */
  printed(words: string | RegExp): Promise<void>;
  /** SIGKILL, as a crash. */
  kill(): Promise<Ended>;
  /** SIGTERM, as an operator. Throws when it takes more than 15 s. */
  stop(): Promise<Ended>;
}

/** Processes and folders of one test file. Everything is gone once it is disposed of, and after this process, however it ends. */
export class Processes implements AsyncDisposable {
  readonly #running = new Set<ChildProcess>();
  readonly #folders: string[] = [];
  readonly #bin: string;

  /** `sources`: a folder that holds another version of the service. */
  constructor(sources = root) {
    this.#bin = join(sources, 'services', 'ride-calendar.js');
  }

  /** A folder that nobody else has. */
  async folder(): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), 'ride-calendar-e2e-'));
    this.#folders.push(folder);
    return folder;
  }

  /** Starts one of the servers, `start`, `api` or `projector`, on a free port unless `env` says which; or a tool with its arguments. */
  async start(command: string | readonly string[], env: Env = {}): Promise<RunningService> {
    const port = env.PORT ?? String((await freePorts(1))[0]);
    const origin = `http://127.0.0.1:${port}`;
    const started = this.#spawn([command].flat(), {
      DATA_DIR: env.DATA_DIR ?? (await this.folder()),
      ...env,
      PORT: port,
    });
    const { child, ended, out, err } = started;
    let isOver = false;
    void ended.then(() => {
      isOver = true;
    });
    const until = async (holds: () => Promise<boolean>, what: string, timeoutMs = startMsMax): Promise<void> => {
      for (const end = performance.now() + timeoutMs; !(await holds()); await sleep(25)) {
        const why = isOver ? 'it has ended' : performance.now() > end ? `not within ${timeoutMs} ms` : null;
        if (why) throw new Error(`${command} ${what}: ${why}. It printed:\n${out()}\n${err()}`);
      }
    };
    const end = async (signal: NodeJS.Signals, timeoutMs: number): Promise<Ended> => {
      child.kill(signal);
      const result = await Promise.race([ended, sleep(timeoutMs, null, { ref: false })]);
      if (!result) throw new Error(`${command} does not end on ${signal}. It printed:\n${out()}\n${err()}`);
      return result;
    };
    const service: RunningService = {
      origin,
      api: `${origin}/api`,
      pid: child.pid!,
      out,
      err,
      ended,
      hasEnded: () => isOver,
      async ready(timeoutMs) {
        await until(() => answersOk(`${origin}/readyz`), 'never got ready', timeoutMs);
        return service;
      },
      printed: (words) => until(async () => holds(out() + err(), words), `never printed ${words}`),
      kill: () => end('SIGKILL', 5_000),
      stop: () => end('SIGTERM', 15_000),
    };
    return service;
  }

  /** Runs a command to its end. */
  async run(args: readonly string[], env: Env = {}): Promise<Ended> {
    return this.#spawn(args, { DATA_DIR: await this.folder(), ...env }).ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#running) child.kill('SIGKILL');
    while (this.#running.size > 0) await sleep(10);
    for (const folder of this.#folders) await rm(folder, { recursive: true, force: true });
  }

  #spawn(args: readonly string[], env: Env) {
    const child = spawn(process.execPath, ['--import', endsWithUs, this.#bin, ...args], {
      // Nothing of this process's environment but the path.
      env: { PATH: process.env.PATH ?? '', DRAIN_SECONDS: '0', ...env },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    this.#running.add(child);
    const said = { out: '', err: '' };
    child.stdout!.setEncoding('utf8').on('data', (text: string) => (said.out += text));
    child.stderr!.setEncoding('utf8').on('data', (text: string) => (said.err += text));
    const ended = new Promise<Ended>((resolve) => {
      child.once('close', (code, signal) => {
        this.#running.delete(child);
        resolve({ code, signal, ...said });
      });
    });
    return { child, ended, out: () => said.out, err: () => said.err };
  }
}

/** What the process imports first: it ends when the channel to us closes, however we end. */
const endsWithUs = `data:text/javascript,${encodeURIComponent(
  "process.once('disconnect', () => process.kill(process.pid, 'SIGKILL')); process.channel.unref();",
)}`;

const holds = (text: string, words: string | RegExp): boolean =>
  typeof words === 'string' ? text.includes(words) : words.test(text);

async function answersOk(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(2_000) });
    await response.arrayBuffer();
    return response.ok;
  } catch {
    return false;
  }
}
