import { expect, it } from 'vitest';
import { redisViewReader } from '../../../../infra/redis/views/redis-view-reader.ts';
import { redisViewWriter } from '../../../../infra/redis/views/redis-view-writer.ts';
import { allTags } from '../../../../schemas/views/view-keys.ts';
import { freshKeyPrefix } from '../../../support/servers/backends.ts';
import { startRedisCluster } from '../../../support/servers/redis-cluster.ts';
import { lead } from '../../../support/stores/lead.ts';

const waits = { timeout: 20_000, interval: 50 };

it('an API counts the tags whose fences stand still, in a Redis Cluster too; not while it is away', async () => {
  const server = await startRedisCluster();
  const settings = { url: server.url, cluster: true, keyPrefix: freshKeyPrefix() };
  const [writer, reader] = [await redisViewWriter(settings), redisViewReader(settings)];
  const beat = async (tags: readonly number[]) => {
    await Promise.all(tags.map((tag) => writer.commit(tag, [])));
    return reader.unledTags!();
  };
  try {
    await lead(writer);
    await expect.poll(() => beat(allTags), waits).toBe(0);
    await expect.poll(() => beat(allTags.slice(5)), waits).toBe(5);
    await server.stop();
    await expect.poll(reader.unledTags!, waits).toBeNull();
  } finally {
    await Promise.all([writer.close(), reader.close()]);
    await server.stop();
  }
}, 60_000);
