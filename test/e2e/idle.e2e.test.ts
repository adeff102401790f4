import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type RedisServer, startRedisServer } from '../../infra/local/redis-server.ts';
import { parseFence, redisKeys } from '../../infra/redis/redis-keys.ts';
import { beatMs } from '../../projector/ports/leading.ts';
import { Processes } from '../support/processes/process.ts';
import { less, redisUse } from '../support/servers/redis-use.ts';
import { PortlandInKafka } from '../support/worlds/portland-in-kafka.ts';

const processes = new Processes();
let redis: RedisServer;
let portland: PortlandInKafka;
let client: Redis;

beforeAll(async () => {
  portland = await PortlandInKafka.load();
  redis = await startRedisServer();
  client = new Redis(redis.url);
});
afterAll(async () => {
  client.disconnect();
  await processes.close();
  await portland.close();
  await redis.stop();
});

// P64; docs/performance.md. Where each tag beats by itself it is 1,900 commands and 326 kB.
it('two projectors and two APIs to whom nothing happens ask little of Redis, counted by the beats of the leader', async () => {
  const projectors = [1, 2].map(() => processes.start('projector', { ...portland.env, REDIS_URL: redis.url }));
  const apis = [1, 2].map(() => processes.start('api', { REDIS_URL: redis.url, NOW: '2015-06-13T19:00:00Z' }));
  for (const each of await Promise.all([...projectors, ...apis])) await each.ready();
  const { fence } = redisKeys('ride-calendar:');
  const beats = async (): Promise<number> => parseFence((await client.get(fence(0))) ?? '').sequence;
  const after = async (count: number): Promise<void> => {
    const wanted = (await beats()) + count;
    await expect.poll(beats, { timeout: 60_000, interval: 100 }).toBeGreaterThanOrEqual(wanted);
  };
  // What begins with a start is over.
  await after(10);
  const [others, before] = [await client.mget([1, 31, 63].map(fence)), await redisUse(client)];
  const begun = await beats();
  await after(20);
  const { commands, bytes } = less(await redisUse(client), before);
  const perSecond = 1_000 / beatMs / ((await beats()) - begun);
  console.log(`Idle: ${Math.round(commands * perSecond)} commands and ${Math.round(bytes * perSecond)} bytes a second`);
  expect(await client.mget([1, 31, 63].map(fence))).toEqual(others);
  // The beats are looked at ten times a second.
  expect(commands * perSecond).toBeLessThan(250);
  expect(bytes * perSecond).toBeLessThan(25_000);
});
