import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startKafkaBroker } from '../../infra/local/kafka-broker.ts';
import { startRedisServer } from '../../infra/local/redis-server.ts';
import { runCli } from '../../services/command-line.ts';
import { heard } from '../support/processes/heard.ts';
import { type Env, Processes, type RunningService } from '../support/processes/process.ts';
import { refused, words } from '../support/processes/process-ends.ts';
import { freshKeyPrefix, freshTopicPrefix, kafkaBrokers, redisUrl } from '../support/servers/backends.ts';
import { copyPortland, portlandKeys } from '../support/worlds/portland.ts';

// A server that refuses is named; one that is away is waited for, with a message, and the command still ends when told to.

const processes = new Processes();
let folder: string;
let portland: string;
beforeAll(async () => {
  folder = await processes.folder();
  portland = await copyPortland(join(folder, 'portland'));
});
afterAll(() => processes.close());

/** What a tool says, and its exit code. */
const tool = (args: string[], env: Env) => heard((io) => runCli(args, io, env));

it('topics that do not exist end a projector and tools, which say how to make them', async () => {
  const KAFKA_TOPIC_PREFIX = freshTopicPrefix();
  const kafka = { KAFKA_BROKERS: kafkaBrokers(), KAFKA_TOPIC_PREFIX };
  const env = { ...kafka, REDIS_URL: redisUrl(), REDIS_KEY_PREFIX: freshKeyPrefix() };
  const ended = await refused(processes, 'projector', env);
  const said = [{ code: ended.code, err: words(ended) }, await tool(['lag'], env), await tool(['verify'], env)];
  const line = expect.stringMatching(`${KAFKA_TOPIC_PREFIX}nights.*npx ride-calendar topics`);
  expect(said).toMatchObject(Array(3).fill({ code: 2, err: [line] }));
  expect(await tool(['simulate', '--riders', '20', '--rides', '5'], kafka)).toMatchObject({ code: 2, err: [line] });
});

describe('start beside complete views', () => {
  it('serves them while topics are missing, says so, and goes on once they are there', async () => {
    const views = { REDIS_URL: redisUrl(), REDIS_KEY_PREFIX: freshKeyPrefix(), NOW: '2015-06-13T19:00:00Z' };
    const before = await processes.start('start', { ...views, ARCHIVE_DIR: portland, KAFKA_PARTITIONER: 'crc32' });
    await before.ready();
    await before.stop();
    const env = { ...views, KAFKA_BROKERS: kafkaBrokers(), KAFKA_TOPIC_PREFIX: freshTopicPrefix() };
    const service = await processes.start('start', env);
    await service.printed('trying again in 2 s');
    const readiness = async (): Promise<unknown> => (await fetch(`${service.origin}/readyz`)).json();
    expect(await readiness()).toEqual({
      status: 'ready',
      note: expect.stringMatching(/^the projector has ended: Cannot read the event log: .*npx ride-calendar topics$/),
    });
    const read = () => fetch(`${service.api}/rides/pp15r4935`, { headers: { 'X-Api-Key': portlandKeys.live } });
    expect((await read()).status).toBe(200);
    expect(await (await fetch(`${service.origin}/metrics`)).text()).toContain('ride_calendar_projector_ready 0');
    expect((await tool(['topics'], env)).code).toBe(0);
    await service.printed('Ready: the views stand at the ends', 60_000);
    await expect.poll(readiness).toEqual({ status: 'ready' });
    expect((await service.stop()).code).toBe(0);
  }, 120_000);
});

describe('Redis', () => {
  it('that would drop views for want of memory is refused', async () => {
    const server = await startRedisServer({ args: ['--maxmemory-policy', 'allkeys-lru'] });
    const ended = await refused(processes, 'projector', {
      ARCHIVE_DIR: portland,
      KAFKA_PARTITIONER: 'crc32',
      REDIS_URL: server.url,
    });
    await server.stop();
    expect([ended.code, words(ended).join()]).toEqual([1, expect.stringContaining('is allkeys-lru, want noeviction')]);
  });

  it('that refuses a password is waited for, at the start and later, and ends tools', async () => {
    const server = await startRedisServer({ args: ['--requirepass', 'hunter2-first'] });
    const admin = new Redis(server.url.replace('//', '//:hunter2-first@'));
    const givePassword = (password: string) => admin.config('SET', 'requirepass', password);
    const env = {
      ARCHIVE_DIR: portland,
      KAFKA_PARTITIONER: 'crc32',
      REDIS_URL: server.url.replace('//', '//:hunter2@'),
    };
    const stated = async ({ origin }: RunningService) => JSON.stringify(await (await fetch(`${origin}/readyz`)).json());
    const saidBy = (running: readonly RunningService[], words: string) =>
      Promise.all(running.map((one) => expect.poll(() => stated(one), { timeout: 20_000 }).toContain(words)));
    const storeAnswers = async (api: RunningService) =>
      /^ride_calendar_store_answers (.*)$/m.exec(await (await fetch(`${api.origin}/metrics`)).text())![1];
    const waiting = /ride_calendar_waiting_seconds\{[^}]*for="redis"[^}]*\} (?!0$)/m;
    try {
      const listed = await tool(['generations', 'list'], env);
      const err = [expect.stringContaining('refuses the user and password of REDIS_URL')];
      expect(listed).toMatchObject({ code: 1, err });
      const [leader, api] = await Promise.all([processes.start('projector', env), processes.start('api', env)]);
      const refused = 'Redis refuses the user and password of REDIS_URL (WRONGPASS';
      await leader.printed(`Cannot find out who leads, trying again: ${refused}`);
      await saidBy([leader, api], refused);
      const metrics = async () => (await fetch(`${leader.origin}/metrics`)).text();
      await expect.poll(metrics, { timeout: 20_000 }).toMatch(waiting);
      await givePassword('hunter2');
      await Promise.all([leader.ready(), api.ready()]);
      const all = [leader, api];

      await givePassword('hunter2-other');
      for (const type of ['normal', 'pubsub']) await admin.call('CLIENT', 'KILL', 'TYPE', type, 'SKIPME', 'yes');
      await saidBy(all, refused);
      // A load balancer keeps it, since no other API could read either.
      expect([await stated(api), await storeAnswers(api)]).toEqual([expect.stringContaining('"ready","note":"'), '0']);
      await expect.poll(metrics, { timeout: 20_000 }).toMatch(waiting);
      await givePassword('hunter2');
      for (const one of all) await expect.poll(() => stated(one), { timeout: 20_000 }).toBe('{"status":"ready"}');
      expect(await storeAnswers(api)).toBe('1');
      for (const one of all) {
        const { code, out, err } = await one.stop();
        expect([code, out + err]).toEqual([0, expect.not.stringMatching(/hunter2|Reading the log again/)]);
      }
    } finally {
      admin.disconnect();
      await server.stop();
    }
  }, 120_000);
});

describe('servers that are away at start', () => {
  it('are waited for, with a message each, and then the views are filled', async () => {
    const [broker, server] = await Promise.all([startKafkaBroker(), startRedisServer()]);
    try {
      const env = { KAFKA_BROKERS: broker.brokers, REDIS_URL: server.url, KAFKA_PARTITIONER: 'crc32' };
      for (const args of [['topics'], ['archive', 'load', portland]]) expect((await tool(args, env)).code).toBe(0);
      await Promise.all([broker.kill(), server.kill()]);
      const [projector, api] = await Promise.all([processes.start('projector', env), processes.start('api', env)]);
      await projector.printed('Cannot find out who leads, trying again: Redis cannot be reached');
      await api.printed('Reads get 503: Redis cannot be reached');
      const status = (url: string) => fetch(url).then((response) => response.status, String);
      await expect.poll(() => status(`${projector.origin}/readyz`), { timeout: 10_000 }).toBe(503);
      await expect.poll(() => status(`${api.origin}/readyz`), { timeout: 10_000 }).toBe(503);
      expect(await status(`${api.origin}/healthz`)).toBe(200);
      const away = await fetch(`${api.api}/rides/pp15r4125`, { headers: { 'X-Api-Key': 'x' } });
      expect([away.status, away.headers.get('retry-after')]).toEqual([503, expect.stringMatching(/^\d+$/)]);
      expect(away.headers.get('content-type')).toBe('application/problem+json');
      await server.start();
      await projector.printed(/Cannot read the bounds of the event log: .*; trying again/);
      const stated = async () => (await fetch(`${projector.origin}/readyz`)).text();
      const since = /since [-:\dT]+Z it has waited for Kafka, which does not answer/;
      await expect.poll(stated, { timeout: 20_000 }).toMatch(since);
      expect(await stated()).not.toMatch(/127\.0\.0\.1|view store/);
      await broker.start();
      await Promise.all([projector.ready(), api.ready()]);
      await projector.printed('Kafka answers again');
      await api.printed('Reads are answered');
      const client = new Redis(server.url);
      expect(await client.dbsize()).toBeGreaterThan(1_000);
      client.disconnect();
      expect(await stated()).toBe('{"status":"ready"}');
      for (const { code } of [await projector.stop(), await api.stop()]) expect(code).toBe(0);
    } finally {
      await Promise.all([broker.stop(), server.stop()]);
    }
  }, 240_000);
});
