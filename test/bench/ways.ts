import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { dayText } from '../../schemas/views/days.ts';
import { type Env, Processes, type RunningService } from '../support/process.ts';
import { riderTokens } from '../support/rider-tokens.ts';
import { codeFor, redeem, register } from '../support/sign-in-flow.ts';
import { anyRsvp, developerKey, LiveChain } from './live-chain.ts';
import { table } from './statistics.ts';

const today = Math.floor(Date.now() / 86_400_000);
const [firstDay, lastDay] = [dayText(today), dayText(today + 27)];
const rider = 'rider7';
/** Long enough for an RSVP to come from Kafka into Redis. */
const rsvpMs = 1_500;
/** Long enough for everything that a process does by itself (a leader checks a tag each ten seconds), and to cache. */
const idleMs = 12_000;
const inspected: Env = { NODE_OPTIONS: '--inspect=127.0.0.1:0' };

/**
 * Through how much of our code one thing passes: V8 counts the functions that are called in a running process while a
 * request is answered or an RSVP is written, and not while the process is idle. Everything is done twice before, so
 * nothing is loaded, made or cached first. `--old=FOLDER` counts in another checkout too; `--list` names the functions.
 */
export async function benchWays(args: readonly string[] = []): Promise<void> {
  const options = { list: { type: 'boolean', default: false }, old: { type: 'string' } } as const;
  const { list, old } = parseArgs({ args: [...args], options }).values;
  const here = resolve(import.meta.dirname, '../..');
  const ways = await waysThrough(here);
  const before = old === undefined ? null : await waysThrough(resolve(old));
  const heads = ['files', 'functions'];
  const counts = (called?: Called): string[] => (called ? [String(called.size), String(functionsOf(called))] : []);
  const rows = [...ways].map(([what, called]) => [what, ...counts(called), ...counts(before?.get(what))]);
  console.log(table(['one thing', ...heads, ...(before ? heads.map((head) => `${head} (old)`) : [])], rows));
  if (!list) return;
  for (const [what, called] of ways) {
    console.log(`\n${what}`);
    for (const [file, names] of called) {
      console.log(`  ${file}: ${[...names].map((name) => name.split(':')[0]).join(', ')}`);
    }
  }
}

async function waysThrough(folder: string): Promise<Map<string, Called>> {
  const chain = await LiveChain.start();
  const processes = new Processes(folder);
  const called = (service: RunningService, prepare: Prepare) => calledWhile(folder, service, prepare);
  try {
    const projector = await (await processes.start('projector', { ...chain.env, ...inspected })).ready(120_000);
    const tokens = await riderTokens(await processes.folder());
    const api = await processes.start('api', { REDIS_URL: chain.redis.url, ...tokens.env, ...inspected });
    await api.ready(60_000);
    const bearer = { authorization: `Bearer ${(await tokens.of(rider)).get(rider)}` };
    const day = `${api.api}/metros/metro0/days/${firstDay}`;
    const friends = `${api.api}/me/friends?metro=metro0&from=${firstDay}&to=${lastDay}`;
    const start = await (await processes.start('start', inspected)).ready(60_000);
    const publish = async (): Promise<void> => {
      await chain.publish([anyRsvp('GOING')]);
      await sleep(rsvpMs);
    };
    return new Map([
      ['a day, from memory', await called(api, async () => () => read(day, { 'x-api-key': developerKey }))],
      ['`/me/friends` over four weeks', await called(api, async () => () => read(friends, bearer))],
      ['a code, to its tokens', await called(start, await codesOf(start))],
      ['an RSVP, from Kafka to the views in Redis', await called(projector, async () => publish)],
    ]);
  } finally {
    await processes.close();
    await chain.end();
  }
}

const sampleRider = /a token for (\S+),/;

/** Each preparation signs in; what it returns redeems the code. */
async function codesOf(service: RunningService): Promise<Prepare> {
  const { origin } = service;
  const client = await register(origin);
  await service.printed(sampleRider);
  const sample = sampleRider.exec(service.out())![1]!;
  return async () => {
    const { code, pkce } = await codeFor(origin, client, {}, sample);
    return async () => {
      const { status } = await redeem(origin, client, code, pkce.verifier);
      if (status !== 200) throw new Error(`Cannot measure: a code was answered with ${status}`);
    };
  };
}

/** By file: its functions that were called, as `name:offset`. */
type Called = Map<string, Set<string>>;

const functionsOf = (called: Called): number => [...called.values()].reduce((sum, { size }) => sum + size, 0);

const without = (called: Called, idle: Called): Called =>
  new Map(
    [...called]
      .map(([file, names]) => [file, names.difference(idle.get(file) ?? new Set())] as const)
      .filter(([, names]) => names.size > 0),
  );

/** Does what comes before, which does not count, and returns what counts. */
type Prepare = () => Promise<() => Promise<void>>;

async function calledWhile(folder: string, service: RunningService, prepare: Prepare): Promise<Called> {
  const address = /ws:\S+/.exec(service.err())?.[0];
  if (address === undefined) throw new Error(`Cannot measure: no inspector in what it printed: ${service.err()}`);
  for (let i = 0; i < 2; i++) await (await prepare())();
  const inspector = await Inspector.connect(address);
  try {
    await inspector.ask('Profiler.enable');
    await inspector.ask('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
    const called = async (): Promise<Called> =>
      ours(folder, (await inspector.ask<{ result: ScriptCoverage[] }>('Profiler.takePreciseCoverage')).result);
    await sleep(idleMs);
    const idle = await called();
    const act = await prepare();
    await called();
    await act();
    return without(await called(), idle);
  } finally {
    inspector.close();
  }
}

interface ScriptCoverage {
  url: string;
  functions: { functionName: string; ranges: { startOffset: number; count: number }[] }[];
}

function ours(folder: string, scripts: readonly ScriptCoverage[]): Called {
  const called: Called = new Map();
  for (const { url, functions } of scripts) {
    if (!url.startsWith('file:')) continue;
    const path = fileURLToPath(url);
    if (!path.startsWith(`${folder}/`) || path.includes('/node_modules/')) continue;
    // What begins at 0 is the module itself.
    const names = functions
      .filter(({ ranges }) => ranges[0]!.count > 0 && ranges[0]!.startOffset > 0)
      .map(({ functionName, ranges }) => `${functionName || '(arrow)'}:${ranges[0]!.startOffset}`);
    if (names.length > 0) called.set(path.slice(folder.length + 1), new Set(names));
  }
  return new Map([...called].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** A session with a process's inspector, over its WebSocket. */
class Inspector {
  readonly #socket: WebSocket;
  #id = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
  }

  static async connect(address: string): Promise<Inspector> {
    const socket = new WebSocket(address);
    await new Promise((resolve, reject) => {
      socket.addEventListener('open', resolve);
      socket.addEventListener('error', () => reject(new Error(`Cannot reach the inspector at ${address}`)));
    });
    return new Inspector(socket);
  }

  ask<Answer>(method: string, params: object = {}): Promise<Answer> {
    const id = ++this.#id;
    const { promise, resolve } = Promise.withResolvers<Answer>();
    const hear = ({ data }: MessageEvent): void => {
      const message = JSON.parse(data);
      if (message.id !== id) return;
      this.#socket.removeEventListener('message', hear);
      resolve(message.result);
    };
    this.#socket.addEventListener('message', hear);
    this.#socket.send(JSON.stringify({ id, method, params }));
    return promise;
  }

  close(): void {
    this.#socket.close();
  }
}

async function read(url: string, headers: Record<string, string> = {}): Promise<void> {
  const response = await fetch(url, { headers });
  await response.arrayBuffer();
  if (response.status !== 200) throw new Error(`Cannot measure: ${url} was answered with ${response.status}`);
}
