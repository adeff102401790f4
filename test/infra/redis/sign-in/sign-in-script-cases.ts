import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { expect, it } from 'vitest';
import { redisSignInState } from '../../../../infra/redis/sign-in/redis-sign-in-state.ts';
import { freshKeyPrefix, redisUrl } from '../../../support/servers/backends.ts';

/** What sign-in's scripts leave in Redis, which no answer shows: nothing there may grow for ever. */
export function signInScriptCases(): void {
  it('an index loses the entries that are over or removed, and is gone with the last of them', async () => {
    const keyPrefix = freshKeyPrefix();
    const redis = new Redis(redisUrl());
    const store = redisSignInState({ url: redisUrl(), keyPrefix });
    /** The members of each index. */
    const indexes = async (): Promise<string[][]> => {
      const names = await redis.keys(`${keyPrefix}*`);
      const types = await Promise.all(names.map((name) => redis.type(name)));
      const sorted = names.filter((_, i) => types[i] === 'zset');
      for (const name of sorted) expect(await redis.pttl(name)).toBeGreaterThan(0);
      return (await Promise.all(sorted.map((name) => redis.zrange(name, '0', '-1')))).sort();
    };
    try {
      await store.put('Grant', 'short', {}, { lifeSeconds: 0.05, account: 'ada' });
      await store.put('Grant', 'long', {}, { lifeSeconds: 60, account: 'ada' });
      await sleep(100);
      await store.put('Token', 'long', {}, { lifeSeconds: 60, account: 'ada' });
      expect(await indexes()).toEqual([['Grant:long', 'Token:long'], ['ada']]);
      await store.remove('Grant', 'long');
      await store.tidyAccount('ada');
      expect(await indexes()).toEqual([['Token:long'], ['ada']]);
      await store.remove('Token', 'long');
      await store.tidyAccount('ada');
      expect(await indexes()).toEqual([]);
    } finally {
      await store.close();
      redis.disconnect();
    }
  });
}
