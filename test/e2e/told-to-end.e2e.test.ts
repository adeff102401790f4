import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePorts } from '../../infra/local/free-port.ts';
import { freshKeyPrefix, redisUrl } from '../support/backends.ts';
import { portlandDirectory } from '../support/portland.ts';
import { type Ended, type Env, Processes } from '../support/process.ts';
import { serverMsMax, toldToEnd, toolMsMax } from '../support/process-ends.ts';
import { tarpit } from '../support/tarpit.ts';

// Every command ends when it is told to, whatever server it waits for: one that is frozen (it takes connections and never
// answers) or gone (it refuses them). A tool ends within about 2 s, a server within 5 s.

const processes = new Processes();
afterAll(() => processes.close());

let folder: string;
let port: number;
beforeAll(async () => {
  folder = await processes.folder();
  [port] = (await freePorts(1)) as [number];
});

interface Case {
  command: string;
  server: string;
  args: readonly string[];
  env(address: string): Env;
  /** Says that the server can't be reached. */
  gone: string | RegExp;
  isTool: boolean;
}

const kafka = (address: string): Env => ({ KAFKA_BROKERS: address });
const archive = { ARCHIVE_DIR: portlandDirectory };
const tools: Case[] = [
  { args: ['topics'], gone: 'Cannot look up the topics' },
  { args: ['simulate'], gone: 'Cannot look up the topics' },
  { args: ['archive', 'save', 'DIR'], gone: 'Cannot read' },
  { args: ['archive', 'load', portlandDirectory], gone: 'Cannot read the bounds' },
].map(({ args, gone }) => ({
  command: args.slice(0, 2).join(' '),
  server: 'Kafka',
  args,
  env: kafka,
  gone,
  isTool: true,
}));

const redisAt = (address: string): Env => ({ REDIS_URL: `redis://${address}` });
const goodRedis = (): Env => ({ REDIS_URL: redisUrl(), REDIS_KEY_PREFIX: freshKeyPrefix() });
const authRedisAt = (address: string): Env => ({ AUTH_REDIS_URL: `redis://${address}` });

const servers: Case[] = [
  { command: 'start', server: 'Kafka', env: kafka, gone: 'Cannot read the bounds' },
  {
    command: 'start',
    server: 'Redis',
    env: (at: string) => ({ ...archive, ...redisAt(at) }),
    gone: 'Cannot look who leads',
  },
  {
    command: 'start',
    server: "sign-in's Redis",
    env: (at: string) => ({ ...archive, ...authRedisAt(at) }),
    gone: 'Ctrl-C',
  },
  { command: 'api', server: 'Redis', env: redisAt, gone: 'Not ready' },
  {
    command: 'api',
    server: "sign-in's Redis",
    env: (at: string) => ({ ...goodRedis(), ...authRedisAt(at) }),
    gone: "Sign-in's Redis",
  },
  {
    command: 'projector',
    server: 'Kafka',
    env: (at: string) => ({ ...kafka(at), ...goodRedis() }),
    gone: 'Cannot read the bounds',
  },
  {
    command: 'projector',
    server: 'Redis',
    env: (at: string) => ({ ...archive, ...redisAt(at) }),
    gone: 'Cannot look who leads',
  },
].map((one) => ({ ...one, args: [one.command], isTool: false }));

/** Starts the command, and sends the signal once it waits for the server. */
async function endedBy(signal: NodeJS.Signals, one: Case, state: 'frozen' | 'gone'): Promise<Ended> {
  const pit = state === 'frozen' ? await tarpit() : null;
  try {
    const args = one.args.map((arg) => (arg === 'DIR' ? join(folder, `saved-${Math.random()}`) : arg));
    const running = await processes.start(args, one.env(pit?.address ?? `127.0.0.1:${port}`));
    if (pit) await Promise.race([pit.caught, running.printed('never', 60_000)]);
    else await running.printed(one.gone, 60_000);
    // From the connection to the wait for an answer.
    await sleep(300);
    return await toldToEnd(running, signal, one.isTool ? toolMsMax : serverMsMax);
  } finally {
    pit?.close();
  }
}

describe.each(['frozen', 'gone'] as const)('a server that is %s before it could answer', (state) => {
  it.each([...tools, ...servers])('$command ends all the same: $server', async (one) => {
    const both = await Promise.all((['SIGINT', 'SIGTERM'] as const).map((signal) => endedBy(signal, one, state)));
    for (const [i, { code, signal, err }] of both.entries()) {
      // `topics` has nothing to finish: it does not listen to signals.
      if (one.command === 'topics') expect(signal).toBe(['SIGINT', 'SIGTERM'][i]);
      else expect([code, signal]).toEqual([one.isTool ? 1 : 0, null]);
      if (one.isTool && code === 1) expect(err).toContain('Stopped before the end');
      expect(err).not.toMatch(/^ +at |"stack"|Warning/m);
    }
  });
});

describe('a second signal', () => {
  it.each([
    ['SIGINT', 'SIGINT'],
    ['SIGINT', 'SIGTERM'],
    ['SIGTERM', 'SIGINT'],
  ] as const)('ends a server at once: %s, then %s', async (first, second) => {
    const pit = await tarpit();
    const running = await processes.start('projector', { ...archive, ...redisAt(pit.address) });
    await pit.caught;
    await sleep(300);
    process.kill(running.pid, first);
    await sleep(200);
    expect(running.hasEnded()).toBe(false);
    process.kill(running.pid, second);
    expect(await running.ended).toMatchObject({ signal: second });
    pit.close();
  });
});
