import { Redis } from 'ioredis';
import { afterAll, expect, it } from 'vitest';
import { redisViewWriter } from '../../../infra/redis/views/redis-view-writer.ts';
import { allTags, viewFormat } from '../../../schemas/views/view-keys.ts';
import { parseKey, rideKey } from '../../../schemas/views/view-kinds.ts';
import { encodeView } from '../../../schemas/views/view-values.ts';
import { ran } from '../../support/processes/ran.ts';
import { freshKeyPrefix, redisUrl } from '../../support/servers/backends.ts';
import { startRedisCluster } from '../../support/servers/redis-cluster.ts';
import { beating } from '../../support/stores/beating.ts';
import { complete, lead } from '../../support/stores/lead.ts';
import { valueWrite } from '../../support/stores/view-names.ts';

// Views of another format are ours under another number.

const redis = new Redis(redisUrl());
const other = viewFormat + 10;
const keyPrefix = freshKeyPrefix();
afterAll(() => redis.quit());

const names = (format: number) => redis.keys(`${keyPrefix}g${format}:*`);

/** Gives all keys a second time, under another format. */
async function copyToOther(): Promise<void> {
  for (const name of await names(viewFormat)) {
    await redis.copy(name, name.replace(`${keyPrefix}g${viewFormat}:`, `${keyPrefix}g${other}:`));
  }
}

async function runsOn(env: Record<string, string>, ...args: string[]) {
  const { code, out, err } = await ran(['generations', ...args], { ...env, REDIS_KEY_PREFIX: keyPrefix });
  return { code, out: [...out, ...err].join('\n') };
}
const runs = (...args: string[]) => runsOn({ REDIS_URL: redisUrl() }, ...args);

/** Sets a key anew, as a leader's beats do. */
const beats = (key: string) => beating((n) => redis.set(`${keyPrefix}g${other}:${key}`, `1:${n}:someone:led`), 200);
const fence = 'pub:{v5}:fence';

it('generations list says which formats there are, their keys and who leads; drop refuses one whose projector runs, leaves no tag complete where it is stopped, and removes all of a format and nothing else', async () => {
  await using open = new AsyncDisposableStack();
  const to = { url: redisUrl(), cluster: false, keyPrefix };
  const writer = open.adopt(await redisViewWriter(to), (one) => one.close());
  await lead(writer);
  await writer.commit(parseKey(rideKey('r')).tag, [valueWrite(rideKey('r'), encodeView({}, Buffer.from('x')))]);
  await complete(writer, allTags);
  await copyToOther();
  const [own, before] = [(await names(viewFormat)).sort(), await names(other)];
  {
    await using _ = beats(fence);
    const { code, out } = await runs('list', '--json');
    expect(code).toBe(0);
    const { generation, generations } = JSON.parse(out);
    expect(generation).toBe(viewFormat);
    expect(generations.map((each: { generation: number }) => each.generation)).toEqual([viewFormat, other]);
    for (const { generation: format, keys, bytes, standby } of generations) {
      expect({ keys, standby }).toEqual({ keys: (await names(format)).length, standby: false });
      expect(bytes).toBeGreaterThan(keys * 50);
    }
    // Nobody moves the fences but one.
    const dead = { parts: 64, alive: false };
    expect(generations).toMatchObject([{ parts_unled: 64, leaders: [dead] }, { parts_unled: 63 }]);
    expect(generations[1].leaders.map(({ alive }: { alive: boolean }) => alive).sort()).toEqual([false, true]);
    const text = (await runs('list')).out;
    expect(text).toMatch(/^Generation \d+ \(of this version\): \d+ keys, 0\.0 MB; .*shows no sign of life/m);
    expect(text).toMatch(/^Generation \d+: .*; led: 1 of 64 parts since .*; nobody leads 63 parts$/m);
  }
  const refused = { code: 1, out: `Cannot drop generation ${other}: a projector of it runs; stop it first` };
  for (const key of [fence, 'tag:{v5}:coming']) {
    await using _ = beats(key);
    expect(await runs('drop', String(other))).toEqual(refused);
  }
  expect((await names(other)).length).toBeGreaterThanOrEqual(before.length);

  const stopped = new AbortController();
  const env = { REDIS_URL: redisUrl(), REDIS_KEY_PREFIX: keyPrefix };
  const done = ran(['generations', 'drop', String(other)], env, stopped.signal);
  const stamp = `${keyPrefix}g${other}:pub:{v63}:complete:`;
  await expect.poll(() => redis.exists(stamp), { interval: 1, timeout: 10_000 }).toBe(0);
  stopped.abort();
  await done;
  expect((await names(other)).filter((name) => name.endsWith(':complete:'))).toEqual([]);

  await copyToOther();
  const removed = (await names(other)).length;
  const { code, out } = await runs('drop', String(other), '--json');
  expect([code, JSON.parse(out)]).toEqual([0, { generation: other, removed }]);
  expect(await names(other)).toEqual([]);
  const nothing = { code: 1, out: `Cannot drop generation ${other}: the store holds nothing of it` };
  expect(await runs('drop', String(other))).toEqual(nothing);
  expect((await names(viewFormat)).sort()).toEqual(own);
  // That of this version too.
  expect((await runs('drop', String(viewFormat))).code).toBe(0);
  for (const format of ['0', 'x', '1.5']) expect((await runs('drop', format)).code).toBe(2);
  expect(await runs('list')).toEqual({ code: 0, out: 'The store holds no views' });
});

it('generations list and drop go through all masters of a Redis Cluster', async () => {
  await using open = new AsyncDisposableStack();
  const { url } = open.adopt(await startRedisCluster(), (one) => one.stop());
  const writer = open.adopt(await redisViewWriter({ url, cluster: true, keyPrefix }), (one) => one.close());
  await lead(writer);
  await complete(writer, allTags);
  const env = { REDIS_URL: url, REDIS_CLUSTER: 'true' };
  const { generations } = JSON.parse((await runsOn(env, 'list', '--json')).out);
  expect(generations).toMatchObject([{ generation: viewFormat, leaders: [{ parts: 64, alive: false }] }]);
  expect((await runsOn(env, 'drop', String(viewFormat))).code).toBe(0);
  expect((await runsOn(env, 'list')).out).toBe('The store holds no views');
}, 60_000);
