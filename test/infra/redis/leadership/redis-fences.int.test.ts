import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { type RedisServer, startRedisServer } from '../../../../infra/local/redis-server.ts';
import { redisKeys } from '../../../../infra/redis/redis-keys.ts';
import { redisViewWriter } from '../../../../infra/redis/views/redis-view-writer.ts';
import type { ViewWriter } from '../../../../projector/ports/view-writer.ts';

let server: RedisServer;
let redis: Redis;
let writer: ViewWriter;
beforeAll(async () => {
  server = await startRedisServer();
  redis = new Redis(server.url);
});
afterAll(async () => {
  redis.disconnect();
  await server.stop();
});
beforeEach(async () => {
  await redis.flushall();
  writer = await redisViewWriter({ url: server.url, cluster: false, keyPrefix: '' });
});
afterEach(() => writer.close());

const tag = 7;
const key = redisKeys('').fence(tag);
// As if the clock of Redis had gone back since: the next epoch comes from the fence that is found.
const before = `${Date.now() + 3_600_000}:3:another:free`;
const take = (seen: string) => writer.leadership!.take(tag, seen, false);

/** The tag is taken from an older snapshot, and written to so often. Returns the fence that this leaves. */
async function ledFromBefore(batches: number): Promise<string> {
  await redis.set(key, before);
  expect(await take(before)).not.toBeNull();
  for (let i = 0; i < batches; i++) expect(await writer.commit(tag, [])).toMatchObject({ committed: true });
  return (await redis.get(key))!;
}

// docs/rules.md#fence
it('a fence of an earlier term of the same leader is not its own, though both terms began from one fence', async () => {
  const first = await ledFromBefore(2);
  const second = await ledFromBefore(2);
  expect(second).not.toBe(first);
  await redis.set(key, first);
  expect(writer.leadership!.isAsLeft(tag, first)).toBe(false);
  expect(await writer.commit(tag, [])).toEqual({ committed: false, reason: 'lost' });
  expect(await redis.get(key)).toBe(first);
});

it('a tag that an earlier term of the same leader had just taken is not taken for the one that it takes now', async () => {
  const first = await ledFromBefore(0);
  await ledFromBefore(0);
  await redis.set(key, first);
  expect(await take(before)).toBeNull();
});
