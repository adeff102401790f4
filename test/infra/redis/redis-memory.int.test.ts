import { Redis } from 'ioredis';
import { expect, it } from 'vitest';
import { redisSignInState } from '../../../infra/redis/sign-in/redis-sign-in-state.ts';
import { redisViewReader } from '../../../infra/redis/views/redis-view-reader.ts';
import { freshKeyPrefix } from '../../support/servers/backends.ts';
import { startRedisCluster } from '../../support/servers/redis-cluster.ts';

it('an API knows how much memory the fullest master uses and has, of the views and of sign-in', async () => {
  const cluster = await startRedisCluster();
  const limitBytes = 40_000_000;
  // The other masters have the machine's memory.
  const redis = new Redis(cluster.nodes[1]!.url);
  await redis.config('SET', 'maxmemory', limitBytes);
  redis.disconnect();
  const settings = { url: cluster.url, cluster: true, keyPrefix: freshKeyPrefix() };
  const [reader, state] = [redisViewReader(settings), redisSignInState(settings)];
  try {
    for (const memory of [reader.memory!, state.memory!]) {
      const known = () => memory().catch(() => null);
      await expect.poll(known, { timeout: 20_000 }).toEqual({ usedBytes: expect.any(Number), limitBytes });
      expect((await known())!.usedBytes).toBeGreaterThan(500_000);
    }
  } finally {
    await Promise.all([reader.close(), state.close()]);
    await cluster.stop();
  }
}, 60_000);
