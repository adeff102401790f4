import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { StateStore } from '../../../../api/ports/sign-in-state.ts';
import { type RedisServer, startRedisServer } from '../../../../infra/local/redis-server.ts';
import { redisSignInState } from '../../../../infra/redis/sign-in/redis-sign-in-state.ts';
import { signInStateContract } from '../../../contracts/sign-in-state.ts';
import { freshKeyPrefix } from '../../../support/servers/backends.ts';
import { type RedisCluster, startRedisCluster } from '../../../support/servers/redis-cluster.ts';
import { redisRights, redisUserLacking, redisUserWith, refusedByRedis } from '../../../support/servers/redis-users.ts';

// Sign-in's Redis user has the rights of docs/permissions.md alone.

let server: RedisServer;
let cluster: RedisCluster;
beforeAll(async () => {
  [server, cluster] = await Promise.all([startRedisServer(), startRedisCluster()]);
});
afterAll(async () => {
  await Promise.all([server?.stop(), cluster?.stop()]);
});

const urlsOf = (isCluster: boolean): string[] => (isCluster ? cluster.nodes.map(({ url }) => url) : [server.url]);

async function storeOf(isCluster: boolean): Promise<StateStore> {
  const keyPrefix = freshKeyPrefix();
  const url = await redisUserWith(urlsOf(isCluster), 'exact', redisRights('sign-in', keyPrefix));
  return redisSignInState({ url, cluster: isCluster, keyPrefix });
}

describe.each([
  ['a Redis', false],
  ['a Redis Cluster', true],
] as const)('on %s', (name, isCluster) => {
  signInStateContract(`${name}, with sign-in's rights alone`, () => storeOf(isCluster), 1_000);

  test('nothing of that was refused', async () => {
    expect(await refusedByRedis(urlsOf(isCluster), 'exact')).toEqual([]);
  });
});

describe('a user of sign-in', () => {
  // Without a name of its connection, or a PING, sign-in does all the same.
  const needed = redisRights('sign-in', '').filter((right) => !/^\+(cluster\|.*|ping|client\|setname)$|^~/.test(right));

  test.each([...needed, '~'])('that lacks %s is told of, naming it', async (right) => {
    const keyPrefix = freshKeyPrefix();
    const { url, named } = await redisUserLacking(right, { user: 'sign-in', url: server.url, keyPrefix });
    const admin = new Redis(server.url);
    await admin.script('FLUSH');
    admin.disconnect();
    const heard: string[] = [];
    const store = redisSignInState({ url, keyPrefix, onError: ({ message }) => heard.push(message) });
    await everything(store);
    const told = heard.length;
    await everything(store);
    await store.close();
    // Once, however often it is refused.
    expect(heard).toHaveLength(told);
    expect(heard.join()).toContain('AUTH_REDIS_URL');
    expect(heard.join()).toContain(named);
  });

  test('that may not read CONFIG is warned of snapshots at most', async () => {
    const store = await storeOf(false);
    expect(await store.risk()).toContain('keeps snapshots at most');
    await store.close();
  });
});

/** All that sign-in asks of its store, whatever becomes of it. */
async function everything(store: StateStore): Promise<void> {
  const owned = { lifeSeconds: 60, account: 'a' };
  const limiter = store.limiter({ name: 'n', points: 1, duration: 60 });
  for (const does of [
    () => store.put('A', 'x', { n: 1 }, owned),
    () => store.find('A', 'x'),
    () => store.use('A', 'x', { graceMs: 1, max: 2, limit: { key: 'k', max: 2, windowMs: 1_000 } }),
    () => store.ofAccount('a'),
    () => Array.fromAsync(store.accounts()),
    // The first call of a script is an EVAL, the next an EVALSHA.
    () => limiter.penalty('k', 1),
    () => limiter.penalty('k', 1),
    () => store.extend('A', 'x', 60),
    () => store.take('A', 'x'),
    () => store.tidyAccount('a'),
    () => store.remove('A', 'x'),
    () => store.risk(),
  ])
    await does().catch(() => undefined);
}
