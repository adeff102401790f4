import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type StateStore, StateStoreAwayError } from '../../../api/oauth/state-store.ts';
import { type RedisServer, startRedisServer } from '../../../infra/local/redis-server.ts';
import { redisAuthState } from '../../../infra/redis/auth-state-redis.ts';

// A Redis user of sign-in that lacks a right is told so, in the words to grant it.

let server: RedisServer;
let admin: Redis;
beforeAll(async () => {
  server = await startRedisServer();
  admin = new Redis(server.url);
});
afterAll(async () => {
  admin.disconnect();
  await server.stop();
});

// The user of infra/deploy/redis-users.acl, without what only a cluster or a monitor asks for.
const user = /^user sign-in .*$/m.exec(
  readFileSync(new URL('../../../infra/deploy/redis-users.acl', import.meta.url), 'utf8'),
)![0];
const keys = user.split(' ').find((word) => word.startsWith('~'))!;
const rights = [...user.split(' ').filter((word) => /^\+(?!cluster|ping|client)/.test(word)), keys];
const always = ['+client|setname', '+ping'];

async function stateWithout(lacking: string | null): Promise<{ store: StateStore; said: string[] }> {
  const name = randomUUID();
  const granted = rights.filter((right) => right !== lacking);
  await admin.call('ACL', 'SETUSER', name, 'reset', 'on', '>pw', 'resetchannels', ...always, ...granted);
  await admin.script('FLUSH');
  const said: string[] = [];
  const url = server.url.replace('//', `//${name}:pw@`);
  return { store: redisAuthState({ url, onError: (error) => said.push(error.message) }), said };
}

/** All that sign-in does to its store. */
async function everything(store: StateStore): Promise<void> {
  const id = randomUUID();
  const life = { lifeSeconds: 60, grant: id, account: id };
  await store.put('A', id, { n: 1 }, life);
  await store.replace('A', id, { n: 2 });
  await store.swap([{ kind: 'A', id, from: null, to: 'x' }]);
  await store.extend('A', id, 60);
  await store.find('A', id);
  await store.ofAccount(id);
  await store.tidyAccount(id);
  for await (const _ of store.accounts());
  for await (const _ of store.ids('A'));
  await store.take('A', id);
  await store.put('A', id, {}, life);
  await store.remove('A', id);
  await store.removeGrant(id);
  // The last one drops what the first has counted.
  for (const waitMs of [0, 500, 400]) {
    await sleep(waitMs);
    await store.count(id, 0.6, 1);
  }
  await store.noteErasures(new Map([[id, Date.now()]]), 60);
  await store.erasures();
  await store.risk();
}

describe('sign-in’s user', () => {
  it('does everything with the rights that the deployment gives it', async () => {
    const { store, said } = await stateWithout(null);
    await everything(store);
    expect(said).toEqual([]);
    await store.close();
  });

  it.each(rights)('without %s is refused, naming it, once in the log', async (lacking) => {
    const { store, said } = await stateWithout(lacking);
    const refused = await Promise.all([1, 2].map(() => everything(store).catch((error: Error) => error)));
    for (const error of refused) {
      expect(error).toBeInstanceOf(StateStoreAwayError);
      const named = lacking === keys ? '~' : lacking;
      expect((error as Error).message).toMatch(/^Sign-in's Redis .*AUTH_REDIS_URL.*; grant it /);
      expect((error as Error).message).toContain(named);
    }
    expect(said.length).toBe(new Set(said).size);
    expect(said.length).toBeGreaterThan(0);
    await store.close();
  });
});
