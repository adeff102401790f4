import { Redis } from 'ioredis';
import { expect, it } from 'vitest';
import { startRedisServer } from '../../../infra/local/redis-server.ts';
import { redisSignInState } from '../../../infra/redis/sign-in/redis-sign-in-state.ts';
import { redisViewReader } from '../../../infra/redis/views/redis-view-reader.ts';
import { freshKeyPrefix } from '../../support/servers/backends.ts';
import { startRedisCluster } from '../../support/servers/redis-cluster.ts';

const waits = { timeout: 20_000, interval: 50 };
const limitBytes = 40_000_000;

/** The other masters have the machine's memory. */
async function clusterWithOneLimit() {
  const cluster = await startRedisCluster();
  const redis = new Redis(cluster.nodes[1]!.url);
  await redis.config('SET', 'maxmemory', limitBytes);
  redis.disconnect();
  return cluster;
}

it.each([
  ['a Redis', false, () => startRedisServer({ args: ['--maxmemory', String(limitBytes)] })],
  ['the fullest master of a Redis Cluster', true, clusterWithOneLimit],
])(
  'an API knows how much memory %s uses and has, of the views and of sign-in',
  async (_, cluster, start) => {
    const server = await start();
    const settings = { url: server.url, cluster, keyPrefix: freshKeyPrefix() };
    const [reader, state] = [redisViewReader(settings), redisSignInState(settings)];
    try {
      for (const memory of [reader.memory!, state.memory!]) {
        const known = () => memory().catch(() => null);
        await expect.poll(known, waits).toEqual({ usedBytes: expect.any(Number), limitBytes });
        expect((await known())!.usedBytes).toBeGreaterThan(500_000);
      }
    } finally {
      await Promise.all([reader.close(), state.close()]);
      await server.stop();
    }
  },
  60_000,
);
