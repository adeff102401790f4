import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../../infra/local/free-port.ts';
import { type KafkaBroker, startKafkaBroker } from '../../infra/local/kafka-broker.ts';
import { type RedisServer, startRedisServer } from '../../infra/local/redis-server.ts';
import { runCli } from '../../services/command-line.ts';
import { heard } from '../support/processes/heard.ts';
import { type Env, Processes, type RunningService } from '../support/processes/process.ts';
import { freshKeyPrefix, freshTopicPrefix, kafkaBrokers, redisUrl } from '../support/servers/backends.ts';
import { portlandDirectory } from '../support/worlds/portland.ts';

// A server that refuses is named; one that is away is waited for, with a message, and the command still ends when told to.

const processes = new Processes();
afterAll(() => processes.close());
const example = new URL('../../docs/example-records.jsonl', import.meta.url).pathname;
const developerKey = 'rck_the-example-key-that-everybody-knows-------';

/** What a command says that ends by itself, and its exit code. */
const tool = async (args: string[], env: Env) => {
  const own = { LOG_LEVEL: 'silent', PORT: String(await freePort()), ...env };
  return heard((io) => runCli(args, io, own));
};

it('topics that do not exist end a projector and tools, which say how to make them', async () => {
  const KAFKA_TOPIC_PREFIX = freshTopicPrefix();
  const kafka = { KAFKA_BROKERS: kafkaBrokers(), KAFKA_TOPIC_PREFIX };
  const env = { ...kafka, REDIS_URL: redisUrl(), REDIS_KEY_PREFIX: freshKeyPrefix() };
  const line = expect.stringMatching(`${KAFKA_TOPIC_PREFIX}nights.*npx ride-calendar topics`);
  for (const command of ['projector', 'lag', 'verify'])
    expect(await tool([command], env)).toMatchObject({ code: 2, err: [line] });
  expect(await tool(['simulate', '--riders', '20', '--rides', '5'], kafka)).toMatchObject({ code: 2, err: [line] });
});

describe('Redis', () => {
  it('that would drop views for want of memory is refused', async () => {
    const server = await startRedisServer({ args: ['--maxmemory-policy', 'allkeys-lru'] });
    const archive = { ARCHIVE_DIR: portlandDirectory, KAFKA_PARTITIONER: 'crc32' };
    const { code, err } = await tool(['projector'], { ...archive, REDIS_URL: server.url });
    await server.stop();
    expect([code, err.join()]).toEqual([1, expect.stringContaining('is allkeys-lru, want noeviction')]);
  });

  it('that refuses a password is waited for, at the start and later, and ends tools', async () => {
    const server = await startRedisServer({ args: ['--requirepass', 'hunter2-first'] });
    const admin = new Redis(server.url.replace('//', '//:hunter2-first@'));
    const givePassword = (password: string) => admin.config('SET', 'requirepass', password);
    const env = {
      ARCHIVE_DIR: portlandDirectory,
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

describe('servers of one’s own', () => {
  let broker: KafkaBroker;
  let server: RedisServer;
  let env: Env;
  beforeAll(async () => {
    [broker, server] = await Promise.all([startKafkaBroker(), startRedisServer()]);
    env = { KAFKA_BROKERS: broker.brokers, REDIS_URL: server.url, NOW: '2026-11-24T19:00:00Z' };
  });
  afterAll(() => Promise.all([broker.stop(), server.stop()]));
  const readiness = async ({ origin }: RunningService) => (await fetch(`${origin}/readyz`)).text();
  const well = '{"status":"ready"}';

  it('that are away at start are waited for, with a message each, and then the views are filled', async () => {
    for (const args of [
      ['topics', '--partitions', '2'],
      ['records', 'publish', example],
    ])
      expect((await tool(args, env)).code).toBe(0);
    await Promise.all([broker.kill(), server.kill()]);
    const [projector, api] = await Promise.all([processes.start('projector', env), processes.start('api', env)]);
    await projector.printed('Cannot find out who leads, trying again: Redis cannot be reached');
    await api.printed('Reads get 503: Redis cannot be reached');
    const status = (url: string) => fetch(url).then((response) => response.status, String);
    for (const { origin } of [projector, api])
      await expect.poll(() => status(`${origin}/readyz`), { timeout: 10_000 }).toBe(503);
    expect(await status(`${api.origin}/healthz`)).toBe(200);
    const away = await fetch(`${api.api}/rides/taco`, { headers: { 'X-Api-Key': 'x' } });
    expect([away.status, away.headers.get('retry-after')]).toEqual([503, expect.stringMatching(/^\d+$/)]);
    expect(away.headers.get('content-type')).toBe('application/problem+json');
    await server.start();
    await projector.printed(/Cannot read the bounds of the event log: .*; trying again/);
    const since = /since [-:\dT]+Z it has waited for Kafka, which does not answer/;
    await expect.poll(() => readiness(projector), { timeout: 20_000 }).toMatch(since);
    expect(await readiness(projector)).not.toMatch(/127\.0\.0\.1|view store/);
    await broker.start();
    await Promise.all([projector.ready(), api.ready()]);
    await projector.printed('Kafka answers again');
    await api.printed('Reads are answered');
    expect(await readiness(projector)).toBe(well);
    for (const { code } of [await projector.stop(), await api.stop()]) expect(code).toBe(0);
  });

  it('start serves complete views while topics are missing, says so, and goes on once they are there', async () => {
    const missing = { ...env, KAFKA_TOPIC_PREFIX: freshTopicPrefix() };
    const service = await processes.start('start', missing);
    await service.printed('trying again in 2 s');
    expect(JSON.parse(await readiness(service))).toEqual({
      status: 'ready',
      note: expect.stringMatching(/^the projector has ended: Cannot read the event log: .*npx ride-calendar topics$/),
    });
    const read = await fetch(`${service.api}/rides/taco`, { headers: { 'X-Api-Key': developerKey } });
    expect([read.status, await read.json()]).toMatchObject([200, { title: 'Taco Tuesday' }]);
    expect(await (await fetch(`${service.origin}/metrics`)).text()).toContain('ride_calendar_projector_ready 0');
    expect((await tool(['topics', '--partitions', '1'], missing)).code).toBe(0);
    await service.printed('Ready: the views stand at the ends', 60_000);
    await expect.poll(() => readiness(service)).toBe(well);
    expect((await service.stop()).code).toBe(0);
  });
});
