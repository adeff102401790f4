import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { redisSignInState } from '../../../infra/redis/sign-in/redis-sign-in-state.ts';
import { redisViewReader } from '../../../infra/redis/views/redis-view-reader.ts';
import { redisViewWriter } from '../../../infra/redis/views/redis-view-writer.ts';
import { allTags } from '../../../schemas/views/view-keys.ts';
import { freshKeyPrefix } from '../../support/servers/backends.ts';
import { type RedisCluster, startRedisCluster } from '../../support/servers/redis-cluster.ts';
import { complete, lead } from '../../support/stores/lead.ts';

// A Redis Cluster whose first master is dead for good, while its replica takes over.

let cluster: RedisCluster;
beforeAll(async () => {
  cluster = await startRedisCluster({ replicas: true });
}, 60_000);
afterAll(() => cluster?.stop());

const keyPrefix = freshKeyPrefix();
const waits = { timeout: 45_000, interval: 200 };

/** Everything that asks the cluster, from one setting. */
async function clientsOf(url: string) {
  const settings = { url, cluster: true, keyPrefix };
  const [writer, reader, state] = [
    await redisViewWriter(settings),
    redisViewReader(settings),
    redisSignInState(settings),
  ];
  return {
    /** Resolves once all of them do their work. */
    async work() {
      await vi.waitFor(async () => {
        await lead(writer);
        await complete(writer, allTags);
      }, waits);
      await vi.waitFor(async () => expect(await reader.ready()).toEqual({ ready: true }), waits);
      await vi.waitFor(() => state.put('A', 'x', {}, { lifeSeconds: 60 }), waits);
    },
    reader,
    close: () => Promise.all([writer.close(), reader.close(), state.close()]),
  };
}

test('is used on by who runs, and found by who has another address', async () => {
  const [first, second] = cluster.nodes;
  const running = await clientsOf(first!.url);
  await running.work();
  await first!.kill();

  // Before the replica is promoted: the others still name the dead one as a master.
  const begun = await clientsOf([first!.url, second!.url].join());
  const reasons = new Set<string>();
  const asking = setInterval(async () => {
    const state = await running.reader.ready();
    if (!state.ready) reasons.add(state.reason);
  }, 50);
  await begun.work();
  await running.work();
  clearInterval(asking);
  expect([...reasons].join()).not.toContain('REDIS_CLUSTER');
  await Promise.all([running.close(), begun.close()]);
}, 180_000);
