import { Redis } from 'ioredis';
import { expect, it } from 'vitest';
import { redisKeys } from '../../../../infra/redis/redis-keys.ts';
import { trackChanges } from '../../../../infra/redis/views/track-changes.ts';
import { allTags } from '../../../../schemas/views/view-keys.ts';
import { freshKeyPrefix, redisUrl } from '../../../support/servers/backends.ts';

// Riders' own layers change far more often than what all read, and no API keeps a copy of them.
it('changes of the public layer are heard, and none of riders’ own layers or of other prefixes', async () => {
  const client = new Redis(redisUrl());
  const keys = redisKeys(freshKeyPrefix());
  const heard: string[] = [];
  let hears = false;
  const tracking = trackChanges(client, keys, {
    changed: (key) => void heard.push(key),
    allChanged() {},
    hearing: (now) => {
      hears = now;
    },
  });
  const beat = () => client.mset(allTags.flatMap((tag) => [keys.fence(tag), String(performance.now())]));
  try {
    await expect.poll(() => beat().then(() => hears), { timeout: 10_000 }).toBe(true);
    await client.set(redisKeys(freshKeyPrefix()).of(7, 'ride', 'elsewhere'), '');
    await client.hset(keys.of(7, 'reader', 'ada'), 'f2015-06-13', '');
    await client.set(keys.of(7, 'ride', 'loop'), '');
    await expect.poll(() => heard, { timeout: 10_000 }).toContain('7|ride:loop');
    expect(heard).toEqual(['7|ride:loop']);
  } finally {
    tracking.stop();
    client.disconnect();
  }
});
