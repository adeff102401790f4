import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { viewFormat } from '../../../schemas/views/view-keys.ts';
import { type Env, Processes, type RunningService } from '../../support/processes/process.ts';
import { freshKeyPrefix, freshTopicPrefix, kafkaBrokers, redisUrl } from '../../support/servers/backends.ts';
import { kafkaClient } from '../../support/servers/kafka.ts';

const processes = new Processes();
let env: Env;
let projector: RunningService;

beforeAll(async () => {
  env = {
    KAFKA_BROKERS: kafkaBrokers(),
    KAFKA_TOPIC_PREFIX: freshTopicPrefix(),
    REDIS_URL: redisUrl(),
    REDIS_KEY_PREFIX: freshKeyPrefix(),
    LOG_LEVEL: 'warn',
  };
  expect(await processes.run(['topics', '--partitions', '2'], env)).toMatchObject({ code: 0 });
});
afterAll(() => processes.close());

const lag = async () => {
  const { code, out, err } = await processes.run(['lag', '--json'], env);
  return { code, err, ...JSON.parse(out) };
};
const simulate = (more: string[]) =>
  processes.run(['simulate', '--riders', '50', '--rides', '20', '--rate', '0', ...more], env);

it('lag says what no projector has read yet, and that nobody leads', async () => {
  expect(await simulate(['--count', '100'])).toMatchObject({ code: 0 });
  const before = await lag();
  expect(before).toMatchObject({ code: 1, err: '', leaders: [], tags_unled: 64 });
  expect(before.lag).toBeGreaterThan(100);
  // Nobody knows when they arrived.
  expect(before.oldest_unreadable_age).toBeNull();
  expect(before.partitions).toContainEqual(expect.objectContaining({ topic: 'metros', partition: 0, position: null }));
});

it('lag is nothing once a projector has written all, and grows when it is gone', async () => {
  projector = await (await processes.start('projector', env)).ready();
  await expect.poll(async () => (await lag()).lag, { timeout: 30_000 }).toBe(0);
  const now = await lag();
  expect(now).toMatchObject({ code: 0, oldest_unreadable_age: null, tags_unled: 0 });
  expect(now.leaders).toEqual([expect.objectContaining({ tags: 64, alive: true })]);
  const { out } = await processes.run(['lag'], env);
  expect(out).toContain('Every change is readable');
  expect(out).toMatch(/^metros\/0 +\d+ +\d+ +0$/m);
  await projector.kill();
  const after = await lag();
  expect(after).toMatchObject({ code: 1, lag: 0, tags_unled: 64 });
  expect(after.leaders).toEqual([expect.objectContaining({ tags: 64, alive: false })]);
}, 120_000);

it('lag counts a change’s age from its arrival, as the metric does, however old its record is', async () => {
  projector = await (await processes.start('projector', env)).ready();
  // What follows an open transaction is hidden: it has arrived, and is not readable.
  const transactionalId = env.KAFKA_TOPIC_PREFIX!;
  const producer = kafkaClient().producer({ transactionalId, idempotent: true, maxInFlightRequests: 1 });
  await producer.connect();
  const transaction = await producer.transaction();
  const record = { partition: 0, key: 'r1', value: null, timestamp: String(Date.now() - 20 * 86_400_000) };
  await transaction.send({ topic: `${env.KAFKA_TOPIC_PREFIX}riders`, messages: [record] });
  const age = async (): Promise<number> => (await lag()).oldest_unreadable_age ?? 0;
  await expect.poll(age, { timeout: 30_000 }).toBeGreaterThan(0);
  expect(await age()).toBeLessThan(3_600);
  await transaction.abort();
  await producer.disconnect();
  await expect.poll(age, { timeout: 30_000 }).toBe(0);
}, 120_000);

it('lag and a projector say whose the views are where they are another log’s, lag also a projector’s of another view format', async () => {
  const other = { ...env, KAFKA_TOPIC_PREFIX: freshTopicPrefix() };
  expect(await processes.run(['topics'], other)).toMatchObject({ code: 0 });
  expect(await processes.run(['lag'], other)).toMatchObject({
    code: 1,
    out: '',
    err: expect.stringContaining('the views are of another log'),
  });
  const beside = await processes.start('projector', other);
  const readiness = async () => await (await fetch(`${beside.origin}/readyz`)).json();
  const reason = expect.stringContaining('the views in the store are of another log');
  await expect.poll(readiness, { timeout: 30_000 }).toEqual({ status: 'not ready', reason });
  await beside.stop();
  await projector.stop();
  const redis = new Redis(redisUrl());
  let moved = 0;
  const fence = `${env.REDIS_KEY_PREFIX}g98:pub:{v0}:fence`;
  const beats = setInterval(() => void redis.set(fence, `1:${++moved}:someone:led`), 100);
  expect(await lag()).toMatchObject({ code: 1, tags_unled: 64, other_formats: [98] });
  const { out } = await processes.run(['lag'], env);
  clearInterval(beats);
  redis.disconnect();
  expect(out).toContain(`No running projector leads 64 of 64 tags of view format ${viewFormat}`);
  expect(out).toContain('If projectors run, Redis takes no writes');
  expect(out).toContain('A projector leads view format 98');
}, 120_000);

it('lag says what is missing, and that Redis is away, and ends', async () => {
  const { REDIS_URL: _, ...withoutRedis } = env;
  expect(await processes.run(['lag'], withoutRedis)).toMatchObject({ code: 2 });
  const away = await processes.run(['lag'], { ...env, REDIS_URL: 'redis://127.0.0.1:1' });
  expect(away.code).toBe(1);
  // The reason is said once.
  expect(away.err).toBe('Cannot read who leads from Redis: connect ECONNREFUSED 127.0.0.1:1\n');
});
