import { Redis } from 'ioredis';
import { afterAll, expect, it } from 'vitest';
import { readStoreState } from '../../../../infra/redis/leadership/who-leads.ts';
import { redisKeys } from '../../../../infra/redis/redis-keys.ts';
import { allTags, viewFormat } from '../../../../schemas/views/view-keys.ts';
import { freshKeyPrefix, redisUrl } from '../../../support/servers/backends.ts';
import { beating } from '../../../support/stores/beating.ts';

const redis = new Redis(redisUrl());
afterAll(() => redis.quit());

const settings = () => ({ url: redisUrl(), cluster: false, keyPrefix: freshKeyPrefix() });

it('operators are told who leads, who stands by, how far it has written, and of other formats that are led', async () => {
  const store = settings();
  const [own, led, left] = [viewFormat, viewFormat + 1, viewFormat + 2].map((format) =>
    redisKeys(store.keyPrefix, format),
  );
  const fenced = (tag: number, n: number): string => [`4:${n}:bo:free`, '', `6:${n}:cy:led`][tag] || `5:${n}:ada:led`;
  await redis.mset(allTags.flatMap((tag) => [own!.fence(tag), fenced(tag, 0)]));
  await redis.mset(own!.position(1), 'P1', own!.unreadable(), '1500', left!.fence(0), '1:1:cy:led');
  await redis.mset(led!.fence(0), '6:1:cy:led', led!.fence(1), '7:0:dee:led');
  await using _ = beating((n) => {
    const moving = allTags.filter((tag) => tag !== 1).flatMap((tag) => [own!.fence(tag), fenced(tag, n)]);
    return redis.mset(
      ...moving,
      led!.fence(1),
      `7:${n}:dee:led`,
      own!.coming(3),
      `eve:${n}`,
      own!.coming(4),
      `dan:${n}`,
    );
  });
  const state = await readStoreState(store, new AbortController().signal);
  expect(state).toMatchObject({
    leaders: [
      { epoch: 6, tags: 1, alive: true },
      { epoch: 5, tags: 62, alive: true },
    ],
    tagsUnled: 2,
    standbys: ['dan', 'eve'],
    otherFormats: [viewFormat + 1],
    unreadableMs: 1_500,
  });
  expect(state.positions).toHaveLength(64);
  expect(state.positions.slice(0, 2)).toEqual([
    { owner: 'bo', text: null },
    { owner: 'ada', text: 'P1' },
  ]);
});

it('a look that is not waited for ends at once, with the reason', async () => {
  const stop = new AbortController();
  const reason = new Error('stopped');
  setTimeout(() => stop.abort(reason), 200);
  await expect(readStoreState(settings(), stop.signal)).rejects.toBe(reason);
});
