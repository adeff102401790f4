import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePorts } from '../../infra/local/free-port.ts';
import { type KafkaBroker, startKafkaBroker } from '../../infra/local/kafka-broker.ts';
import { type RedisServer, startRedisServer } from '../../infra/local/redis-server.ts';
import { freshKeyPrefix } from '../support/backends.ts';
import { TestKafka } from '../support/kafka.ts';
import { type Env, Processes, type RunningService } from '../support/process.ts';
import { serverMsMax, toldToEnd, toolMsMax } from '../support/process-ends.ts';
import { authorizeUrl, register } from '../support/sign-in-flow.ts';
import { newPkce, TestBrowser } from '../support/test-browser.ts';

// Every command ends when it is told to, though a server that it works with was frozen (SIGSTOP) or killed meanwhile.

const processes = new Processes();
let folder: string;
let broker: KafkaBroker;
let redis: RedisServer;
let authRedis: RedisServer;
let registry: HttpServer;
let issuer: HttpServer;

/** A web server that always answers 503, as a process that can be frozen. */
interface HttpServer {
  url: string;
  readonly pid: number;
  kill(): Promise<void>;
  start(): Promise<void>;
}

async function httpServer(): Promise<HttpServer> {
  const [port] = await freePorts(1);
  const script = `require('node:http').createServer((q, s) => s.writeHead(503).end()).listen(${port}, '127.0.0.1', () => console.log('up'))`;
  let child: ChildProcess;
  const start = async () => {
    // With the channel it dies when this process does.
    child = spawn(process.execPath, ['-e', `process.on('disconnect', () => process.exit());${script}`], {
      stdio: ['ignore', 'pipe', 'ignore', 'ipc'],
    });
    const ended = once(child, 'exit').then(() => Promise.reject(new Error(`Cannot listen on port ${port}`)));
    await Promise.race([once(child.stdout!, 'data'), ended]);
  };
  await start();
  return {
    url: `http://127.0.0.1:${port}`,
    get pid() {
      return child.pid!;
    },
    async kill() {
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
    },
    start,
  };
}

const topicPrefix = 'ride-calendar.';

beforeAll(async () => {
  folder = await processes.folder();
  [broker, redis, authRedis, registry, issuer] = await Promise.all([
    startKafkaBroker(),
    startRedisServer(),
    startRedisServer(),
    httpServer(),
    httpServer(),
  ]);
  const env = { KAFKA_BROKERS: broker.brokers };
  expect((await processes.run(['topics', '--partitions', '2'], env)).code).toBe(0);
  const sizes = ['--riders', '20', '--rides', '5', '--count', '0'];
  expect((await processes.run(['simulate', ...sizes], env)).code).toBe(0);
});
afterAll(async () => {
  await processes.close();
  await Promise.all([broker.stop(), redis.stop(), authRedis.stop(), registry.kill(), issuer.kill()]);
});

/** A command of the matrix: how it runs, and what says that it is at work. */
interface Work {
  args: string[];
  env(): Env;
  atWork: string;
  isTool?: true;
  /** Makes it wait for the server that was struck. */
  use?(service: RunningService): Promise<unknown>;
}

const kafka = () => ({ KAFKA_BROKERS: broker.brokers });
const views = () => ({ REDIS_URL: redis.url, REDIS_KEY_PREFIX: freshKeyPrefix(), AUTH_REDIS_URL: authRedis.url });
const withRegistry = () => ({ ...kafka(), SCHEMA_REGISTRY_URL: registry.url });
const withIssuer = () => ({
  SIGN_IN_ISSUER: issuer.url,
  SIGN_IN_CLIENT_ID: 'ride-calendar',
  SIGN_IN_CLIENT_SECRET: 'secret',
  OAUTH_REGISTRATION: 'on',
});
const folded = 'Ready: the views stand';
const waits = 'Cannot look up schema';

const start: Work = { args: ['start'], env: () => ({ ...kafka(), ...views(), ...withIssuer() }), atWork: folded };
const projector: Work = { args: ['projector'], env: () => ({ ...kafka(), ...views() }), atWork: folded };
const api: Work = { args: ['api'], env: () => ({ ...views(), ...withIssuer() }), atWork: 'Serving' };
const simulate: Work = { args: ['simulate', '--rate', '200'], env: kafka, atWork: 'Rider with nights', isTool: true };
const save: Work = { args: ['archive', 'save', 'DIR'], env: withRegistry, atWork: waits, isTool: true };

const readDay = ({ api: base }: RunningService) =>
  fetch(`${base}/metros/x1/days/2026-11-21`, { headers: { 'X-Api-Key': 'x' } });
const registerApp = ({ origin }: RunningService) => register(origin);
/** As far as this service asks the provider where riders sign in. */
async function beginSignIn({ origin }: RunningService): Promise<unknown> {
  const browser = new TestBrowser(origin);
  const { page } = await browser.open(authorizeUrl(origin, await register(origin), newPkce()));
  return browser.open(new URL(/href="([^"]+\/start)"/.exec(page)![1]!, origin).href);
}

const matrix: {
  server: string;
  struck: () => { pid: number; kill(): Promise<void>; start(): Promise<void> };
  works: Work[];
}[] = [
  { server: 'Kafka', struck: () => broker, works: [start, projector, simulate] },
  { server: 'Redis', struck: () => redis, works: [{ ...start, use: readDay }, projector, { ...api, use: readDay }] },
  {
    server: "sign-in's Redis",
    struck: () => authRedis,
    works: [
      { ...start, use: registerApp },
      { ...api, use: registerApp },
    ],
  },
  {
    server: 'the sign-in provider',
    struck: () => issuer,
    works: [
      { ...start, use: beginSignIn },
      { ...api, use: beginSignIn },
    ],
  },
];

/** Runs the commands side by side, strikes the server once all are at work, and tells them to end. */
async function run(works: Work[], signal: NodeJS.Signals, strike: () => unknown): Promise<void> {
  const running = await Promise.all(
    works.map(async ({ args, env, atWork }, i) => {
      const one = await processes.start(
        args.map((arg) => (arg === 'DIR' ? join(folder, `saved-${i}-${signal}-${Math.random()}`) : arg)),
        env(),
      );
      await one.printed(atWork, 90_000);
      return one;
    }),
  );
  await strike();
  for (const [i, { use }] of works.entries()) use?.(running[i]!).catch(() => undefined);
  // Until beats, fetches and the requests above are on their way.
  await sleep(1_500);
  const ended = await Promise.all(
    running.map((one, i) => toldToEnd(one, signal, works[i]!.isTool ? toolMsMax : serverMsMax)),
  );
  for (const [i, { code, err }] of ended.entries()) {
    expect([works[i]!.args[0], code]).toEqual([works[i]!.args[0], works[i]!.isTool ? 1 : 0]);
    expect(err).not.toMatch(/^ +at |Warning/m);
  }
}

describe('a command at work ends when it is told to', () => {
  describe.each(matrix)('though $server', ({ struck, works }) => {
    it('is frozen: SIGINT', async () => {
      let pid = 0;
      try {
        await run(works, 'SIGINT', () => {
          pid = struck().pid;
          process.kill(pid, 'SIGSTOP');
        });
      } finally {
        if (pid > 0) process.kill(pid, 'SIGCONT');
      }
    });

    it('is gone: SIGTERM', async () => {
      try {
        await run(works, 'SIGTERM', () => struck().kill());
      } finally {
        await struck().start();
      }
    });
  });

  describe('though the schema registry', () => {
    beforeAll(async () => {
      const tests = new TestKafka(broker.brokers);
      const producer = tests.client.producer();
      await producer.connect();
      // In the Confluent wire format, of a schema that nobody has looked up yet.
      const value = Buffer.from([0, 0, 0, 0, 77, 1, 2, 3]);
      await producer.send({ topic: `${topicPrefix}metros`, messages: [{ key: 'far-away', value }] });
      await producer.disconnect();
      await tests[Symbol.asyncDispose]();
    });
    const waiting: Work[] = [
      { ...start, env: () => ({ ...withRegistry(), ...views() }), atWork: waits },
      { ...projector, env: () => ({ ...withRegistry(), ...views() }), atWork: waits },
      save,
    ];

    it('is frozen: SIGINT', async () => {
      try {
        await run(waiting, 'SIGINT', () => process.kill(registry.pid, 'SIGSTOP'));
      } finally {
        process.kill(registry.pid, 'SIGCONT');
      }
    });

    it('is gone: SIGTERM', async () => {
      try {
        await run(waiting, 'SIGTERM', () => registry.kill());
      } finally {
        await registry.start();
      }
    });
  });

  it.each(['SIGINT', 'SIGTERM'] as const)('backends: %s, with both of its servers frozen', async (signal) => {
    const script = fileURLToPath(new URL('../../services/backends.ts', import.meta.url));
    const child = spawn(process.execPath, [script], { stdio: ['ignore', 'pipe', 'inherit'] });
    const exited = once(child, 'exit');
    let out = '';
    for await (const text of child.stdout.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
      out += text;
      if (out.includes('Ctrl-C')) break;
    }
    child.stdout.resume();
    const pids = [...out.matchAll(/pid (\d+)/g)].map(([, pid]) => Number(pid));
    for (const pid of pids) process.kill(pid, 'SIGSTOP');
    child.kill(signal);
    const ended = await Promise.race([exited, sleep(toolMsMax, null, { ref: false })]);
    if (!ended) child.kill('SIGKILL');
    for (const pid of pids) await expect.poll(() => isAlive(pid)).toBe(false);
    expect(ended).toEqual([0, null]);
  });
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
