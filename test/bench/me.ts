import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { signSampleToken } from '../../api/tokens/sample-token.ts';
import { freePorts } from '../../infra/local/free-port.ts';
import { startRedisServer } from '../../infra/local/redis-server.ts';
import { loadSigningKeys } from '../../services/settings/sign-in-files.ts';
import { archiveSink } from '../../services/simulate/sinks.ts';
import { connections, type PreparedLoad, prepareLoad } from './load.ts';
import { developerKey, from, fullDayPath, metro, meWorld, readers, to } from './me-world.ts';
import { measuredCore, otherCore, type PinnedProcess, pin, startPinned } from './pinned-process.ts';
import { median, table, thousands } from './statistics.ts';

const warmUpMs = 3_000;
const roundMs = 800;
const rounds = 11;
const baseUrl = 'http://127.0.0.1:8080/api';

/** The API of one checkout, over a Redis that the same checkout's projector filled. */
interface Version {
  name: string;
  port: number;
  api: PinnedProcess;
}

interface Route {
  name: string;
  requests: readonly { path: string; headers: Readonly<Record<string, string>> }[];
}

/** A route of a version, with the CPU microseconds of an answer in each round. */
interface Contest {
  version: Version;
  route: Route;
  load: PreparedLoad;
  micros: number[];
}

type Ended = (() => unknown)[];

/**
 * Answers per CPU-second of the API process, over Redis: riders' own answers, and a public day beside them. `--old=FOLDER`
 * names another checkout, which is measured in turns with this one.
 */
export async function benchMe(options: readonly string[]): Promise<void> {
  const { old } = parseArgs({ args: [...options], options: { old: { type: 'string' } } }).values;
  pin(process.pid, otherCore);
  const dir = await mkdtemp(join(tmpdir(), 'ride-calendar-bench-'));
  const ended: Ended = [() => rm(dir, { recursive: true, force: true })];
  try {
    await writeWorld(join(dir, 'archive'));
    const routes = await routesOf(dir);
    const trees = [{ name: 'this', folder: resolve(import.meta.dirname, '../..') }];
    if (old !== undefined) trees.push({ name: 'old', folder: resolve(old) });
    const contests: Contest[] = [];
    for (const { name, folder } of trees) {
      const version = await startVersion(name, folder, dir, ended);
      for (const route of routes) contests.push(await prepare(version, route));
    }
    if (old !== undefined) await compareAnswers(routes, contests);
    // Route by route: the garbage of one's rounds would be collected, and charged, in those of the next.
    for (const route of routes) await measure(contests.filter((contest) => contest.route === route));
    report(routes, contests);
    for (const { load } of contests) load.close();
  } finally {
    for (const end of ended.reverse()) await end();
  }
}

async function writeWorld(dir: string): Promise<void> {
  const sink = archiveSink({ dir, prefix: 'ride-calendar.' });
  for (const record of meWorld()) await sink.add({ ...record, timestampMs: 1 } as Parameters<typeof sink.add>[0]);
  await sink.complete();
  await sink.close();
}

async function routesOf(dir: string): Promise<Route[]> {
  const keys = await loadSigningKeys(null, dir);
  const issuer = new URL(baseUrl).origin;
  const tokens = await Promise.all(
    readers.map((rider) => signSampleToken({ rider, keys, issuer, audience: baseUrl, lifetimeSeconds: 86_400 })),
  );
  const asReaders = (path: string) =>
    tokens.map((token) => ({ path: `/api${path}`, headers: { Authorization: `Bearer ${token}` } }));
  return [
    { name: '/me/nights', requests: asReaders('/me/nights') },
    { name: '/me/friends', requests: asReaders(`/me/friends?metro=${metro}&from=${from}&to=${to}`) },
    { name: 'public day', requests: [{ path: `/api${fullDayPath}`, headers: { 'X-Api-Key': developerKey } }] },
  ];
}

/** The commands `projector` and `api` of a checkout: settings are all that versions must have in common. */
async function startVersion(name: string, folder: string, dir: string, ended: Ended): Promise<Version> {
  const redis = await startRedisServer();
  ended.push(() => redis.stop());
  pin(redis.pid, otherCore);
  const command = join(folder, 'services', 'ride-calendar.js');
  const start = async (role: string, core: number): Promise<{ port: number; process: PinnedProcess }> => {
    const [port] = await freePorts(1);
    const settings = {
      ...{ PORT: String(port), BASE_URL: baseUrl, REDIS_URL: redis.url, ARCHIVE_DIR: join(dir, 'archive') },
      ...{ OAUTH_KEYS: join(dir, 'oauth-keys.json'), DATA_DIR: join(dir, name), LOG_LEVEL: 'warn' },
    };
    const preload = ['--import', join(import.meta.dirname, 'cpu-report.ts')];
    const process_ = await startPinned(command, [role], core, preload, { ...process.env, ...settings });
    ended.push(() => process_.end());
    await untilReady(port!);
    return { port: port!, process: process_ };
  };
  await start('projector', otherCore);
  const api = await start('api', measuredCore);
  return { name, port: api.port, api: api.process };
}

async function untilReady(port: number): Promise<void> {
  const deadline = Date.now() + 120_000;
  while (Date.now() < deadline) {
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => null);
    await answer?.arrayBuffer();
    if (answer?.status === 200) return;
    await new Promise((done) => setTimeout(done, 100));
  }
  throw new Error(`Cannot measure port ${port}: it is not ready after 120 s`);
}

async function prepare(version: Version, route: Route): Promise<Contest> {
  const load = await prepareLoad({ port: version.port, requests: route.requests, status: 200 });
  return { version, route, load, micros: [] };
}

/** Both versions must send the same: otherwise their times say nothing about each other. */
async function compareAnswers(routes: readonly Route[], contests: readonly Contest[]): Promise<void> {
  const ports = [...new Set(contests.map(({ version }) => version.port))];
  for (const { name, requests } of routes) {
    for (const { path, headers } of requests) {
      const answers = ports.map(async (port) => {
        const answer = await fetch(`http://127.0.0.1:${port}${path}`, { headers });
        return `${answer.headers.get('etag')} ${await answer.text()}`;
      });
      const [one, two] = await Promise.all(answers);
      if (one !== two) throw new Error(`Cannot compare ${name}: the two versions answer differently`);
    }
  }
}

/** Versions in turns. */
async function measure(contests: readonly Contest[]): Promise<void> {
  for (const { load } of contests) await load.run(warmUpMs);
  for (let i = 0; i < rounds; i++) {
    for (const contest of i % 2 === 0 ? contests : contests.toReversed()) contest.micros.push(await round(contest));
  }
}

async function round({ version, load }: Contest): Promise<number> {
  const before = await version.api.ask<{ cpuSeconds: number }>('cpu');
  const { answers } = await load.run(roundMs);
  const after = await version.api.ask<{ cpuSeconds: number }>('cpu');
  return ((after.cpuSeconds - before.cpuSeconds) / answers) * 1e6;
}

function report(routes: readonly Route[], contests: readonly Contest[]): void {
  const of = (route: Route, name: string) => contests.find((c) => c.route === route && c.version.name === name);
  const day = routes.at(-1)!;
  const perSecond = (contest: Contest): number => 1e6 / median(contest.micros);
  const ratios = (over: Contest, under: Contest): string =>
    median(under.micros.map((micros, i) => micros / over.micros[i]!)).toFixed(2);
  const rows = contests.map((contest) => {
    const { version, route, load, micros } = contest;
    const before = of(route, 'old');
    return [
      `${route.name} (${version.name})`,
      `${(load.bodyBytes / 1000).toFixed(1)} kB`,
      `${median(micros).toFixed(0)} µs`,
      thousands(perSecond(contest)),
      `1 : ${(perSecond(of(day, version.name)!) / perSecond(contest)).toFixed(1)}`,
      before === undefined || before === contest ? '–' : ratios(contest, before),
    ];
  });
  console.log(
    `Riders' answers from Redis: ${readers.length} riders, ${connections} connections, ` +
      `${rounds} alternating rounds of ${roundMs} ms, medians`,
  );
  const head = ['answer', 'body', 'CPU', 'answers per CPU-second', 'to the day', 'times the old'];
  console.log(table(head, rows));
}
