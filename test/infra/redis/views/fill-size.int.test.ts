import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { archiveEventLog } from '../../../../infra/archive/log/archive-event-log.ts';
import { type RedisServer, startRedisServer } from '../../../../infra/local/redis-server.ts';
import { redisViewWriter } from '../../../../infra/redis/views/redis-view-writer.ts';
import { fillBytes, NoRoomError } from '../../../../projector/leading/room-for-views.ts';
import { realClock } from '../../../../projector/ports/clock.ts';
import { allTags } from '../../../../schemas/views/view-keys.ts';
import { startProjector } from '../../../support/stores/projector-run.ts';
import { portlandDirectory } from '../../../support/worlds/portland.ts';

let server: RedisServer;
let redis: Redis;
beforeAll(async () => {
  server = await startRedisServer();
  redis = new Redis(server.url);
});
afterAll(async () => {
  redis.disconnect();
  await server.stop();
});

const settings = (keyPrefix: string) => ({ url: server.url, cluster: false, keyPrefix });
const usedMemory = async (): Promise<number> => Number(/used_memory:(\d+)/.exec(await redis.info('memory'))![1]);

async function projectPortland(keyPrefix: string) {
  const writer = await redisViewWriter(settings(keyPrefix));
  const eventLog = archiveEventLog({ dir: portlandDirectory });
  const running = startProjector(eventLog, writer);
  try {
    await running.ready();
    return await fillBytes(running.projector.facts, new Set(allTags), realClock);
  } finally {
    await running.stop().catch(() => {});
    await Promise.all([writer.close(), eventLog.close()]);
  }
}

// docs/rules.md#fill
it('what a fill takes is estimated within a quarter', async () => {
  const before = await usedMemory();
  const estimated = await projectPortland('a:');
  const taken = (await usedMemory()) - before;
  expect(taken).toBeGreaterThan(1_000_000);
  expect(estimated / taken).toBeGreaterThan(0.75);
  expect(estimated / taken).toBeLessThan(1.25);
});

it('a second set of views is refused before Redis is full, and the first one goes on', async () => {
  await redis.config('SET', 'maxmemory', String((await usedMemory()) + 2_000_000));
  await expect(projectPortland('b:')).rejects.toThrow(NoRoomError);
  const left = await redis.keys('b:*');
  expect(left.filter((key) => /:(pub|me):/.test(key) && !key.endsWith(':fence'))).toEqual([]);
  await redis.set('still', 'writable');
  await redis.config('SET', 'maxmemory', '0');
  await projectPortland('b:');
});
