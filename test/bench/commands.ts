import { readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePorts } from '../../infra/local/free-port.ts';
import type { Env } from '../support/processes/process.ts';
import type { Used } from './cpu-report.ts';
import { measuredCore, type PinnedProcess, startPinned } from './pinned-process.ts';
import type { Version } from './versions.ts';

// Commands and settings are all that versions must have in common: nothing of another checkout is imported.

const readyMsMax = 1_800_000;
let commands = 0;

interface Placed {
  /** The measured one, if not said; null: any. */
  core?: number | null;
  execArgv?: readonly string[];
}

export type Server = Awaited<ReturnType<typeof startServer>>;

async function start(version: Version, args: readonly string[], env: Env, placed: Placed): Promise<PinnedProcess> {
  const { core = measuredCore, execArgv = [] } = placed;
  const command = join(version.folder, 'services', 'ride-calendar.js');
  const preload = ['--import', join(import.meta.dirname, 'cpu-report.ts'), ...execArgv];
  const settings = { PATH: process.env.PATH ?? '', DRAIN_SECONDS: '0', LOG_LEVEL: 'error' };
  return startPinned(command, args, core, preload, { ...settings, ...env });
}

/** Starts a server of a checkout. Resolves once it is ready. */
export async function startServer(version: Version, command: string, env: Env, placed: Placed = {}) {
  const [port] = (await freePorts(1)) as [number];
  const server = await start(version, [command], { ...env, PORT: String(port) }, placed);
  const untilMs = Date.now() + readyMsMax;
  while (!(await isReady(port))) {
    if (server.hasEnded()) throw new Error(`Cannot measure ${command} of ${version.folder}: it has ended`);
    if (Date.now() > untilMs) throw new Error(`Cannot measure ${command} of ${version.folder}: it is not ready`);
    await sleep(100);
  }
  return { port, used: () => server.ask<Used>('used'), end: () => server.end() };
}

async function isReady(port: number): Promise<boolean> {
  const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => null);
  await answer?.arrayBuffer();
  return answer?.status === 200;
}

/** Runs a command of a checkout to its end, and says what it took. */
export async function runCommand(version: Version, args: readonly string[], env: Env) {
  const file = join(tmpdir(), `ride-calendar-used-${process.pid}-${commands++}.json`);
  const startMs = performance.now();
  const running = await start(version, args, { ...env, BENCH_USED: file }, {});
  const code = await running.ended;
  const seconds = (performance.now() - startMs) / 1_000;
  if (code !== 0) throw new Error(`Cannot measure ${args.join(' ')} of ${version.folder}: it ended with code ${code}`);
  const used = JSON.parse(await readFile(file, 'utf8')) as Used;
  await rm(file);
  return { ...used, seconds };
}

/** Takes an archive's manifest away, whose form is its version's own: every version reads an archive without one. */
export const forAnyVersion = (dir: string): Promise<void> => rm(join(dir, 'manifest.json'));

/** The day that counts as today in made-up worlds: another day makes another number of records. */
export const worldDay = '2026-06-15';
