import { Redis } from 'ioredis';
import { expect, it, vi } from 'vitest';
import { freePort } from '../../../../infra/local/free-port.ts';
import { startRedisServer } from '../../../../infra/local/redis-server.ts';
import { redisKeys } from '../../../../infra/redis/redis-keys.ts';
import { redisSchemaTexts } from '../../../../infra/redis/views/redis-schema-texts.ts';
import { redisViewReader } from '../../../../infra/redis/views/redis-view-reader.ts';
import { redisViewWriter } from '../../../../infra/redis/views/redis-view-writer.ts';
import { redisLiveViews } from '../../../../infra/redis/views/stored-views.ts';
import { allTags } from '../../../../schemas/views/view-keys.ts';
import { parseKey, rideKey } from '../../../../schemas/views/view-kinds.ts';
import { encodeView } from '../../../../schemas/views/view-values.ts';
import { stallingProxy } from '../../../support/servers/redis-proxies.ts';
import { redisUserLacking } from '../../../support/servers/redis-users.ts';
import { beating } from '../../../support/stores/beating.ts';
import { complete, lead } from '../../../support/stores/lead.ts';
import { valueWrite } from '../../../support/stores/view-names.ts';

const keyPrefix = 'a:';
const keys = redisKeys(keyPrefix);
const [loop, spoiled] = [rideKey('loop'), rideKey('spoiled')];
const notComplete = 'the views are not complete yet';
const view = encodeView({}, Buffer.from('x'));

/** A Redis of its own, in which all views are complete, unless `empty`. All that is opened is closed at the end. */
async function scene(port?: number) {
  const stack = new AsyncDisposableStack();
  const opened = <T extends { close(): Promise<void> }>(one: T): T => stack.adopt(one, (each) => each.close());
  const server = stack.adopt(await startRedisServer({ ...(port !== undefined && { port }) }), (each) => each.stop());
  const settings = { url: server.url, cluster: false, keyPrefix };
  const admin = stack.adopt(new Redis(server.url), (each) => each.disconnect());
  const fill = async () => {
    const writer = opened(await redisViewWriter(settings));
    await lead(writer);
    await writer.commit(parseKey(loop).tag, [valueWrite(loop, view)]);
    await complete(writer, allTags);
    return writer;
  };
  return { server, settings, admin, opened, fill, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

// docs/rules.md#ready-api, #absence
it('a reader says why it is not ready: no Redis, another kind of Redis, views that are not complete, or those of another version; a key of another type is no absent view', async () => {
  const port = await freePort();
  const settings = { url: `redis://127.0.0.1:${port}`, cluster: false, keyPrefix };
  await using stack = new AsyncDisposableStack();
  const reader = stack.adopt(redisViewReader(settings), (each) => each.close());
  const says = (reason: unknown, of = reader) => expect.poll(() => of.ready()).toEqual({ ready: false, reason });
  await says('Redis cannot be reached (ECONNREFUSED)');
  const redis = stack.use(await scene(port));
  await says(notComplete);
  await says(
    'Redis is not a Redis Cluster; leave REDIS_CLUSTER out',
    redis.opened(redisViewReader({ ...settings, cluster: true })),
  );
  const other = redisKeys(keyPrefix, 99).fence(5);
  await redis.admin.set(other, '1:1:someone:led');
  await redis.fill();
  // It has not seen a fence move.
  const late = redis.opened(redisViewReader(settings));
  await says(expect.stringContaining('the store also holds views of format 99, and no projector'), late);
  await redis.admin.del(other);
  await expect.poll(() => late.ready()).toEqual({ ready: true });
  expect(await late.get([loop])).toEqual([view]);
  await redis.admin.sadd(keys.toRedis(spoiled), 'x');
  await expect(late.get([loop, spoiled])).rejects.toThrow('Cannot read views: WRONGTYPE');
  await redis.admin.del(keys.complete(5));
  await says(notComplete);
  await redis.admin.config('SET', 'replica-serve-stale-data', 'no');
  await redis.admin.replicaof('127.0.0.1', String(await freePort()));
  await says('Redis is a replica that has lost its master (MASTERDOWN)');
});

// docs/rules.md#complete
it('nothing is answered from the moment on that another process is behind the address, whatever it holds', async () => {
  await using stack = new AsyncDisposableStack();
  const [first, second] = [stack.use(await scene()), stack.use(await scene())];
  for (const each of [first, second]) await each.fill();
  // As if it had been loaded from what the first one had saved.
  const stamp = (await first.admin.get(keys.complete(0)))!;
  await second.admin.mset(allTags.flatMap((tag) => [keys.complete(tag), stamp]));
  const proxy = stack.adopt(await stallingProxy(first.server.url), (each) => each.close());
  const reader = stack.adopt(redisViewReader({ ...first.settings, url: proxy.url }), (each) => each.close());
  const answer = () => reader.get([loop]).catch(() => null);
  await expect.poll(answer).toEqual([view]);
  proxy.retarget(second.server.url);
  const answers = new Set<unknown>();
  const said = async () => {
    answers.add(await answer());
    const state = await reader.ready();
    return state.ready ? state : state.reason;
  };
  await expect.poll(said, { interval: 1 }).toBe(notComplete);
  expect([...answers]).toEqual([null]);
});

it('changes are heard once a right that was lacking is given; what was kept is forgotten then, and after a pause of the process', async () => {
  await using redis = await scene();
  await redis.fill();
  const { url } = await redisUserLacking('+client|tracking', { user: 'api', url: redis.server.url, keyPrefix });
  const reader = redis.opened(redisViewReader({ ...redis.settings, url }));
  const heard: string[] = [];
  // Nobody tells of a pause before somebody listens.
  reader.noticePause!();
  reader.listen({
    changed() {},
    allChanged: () => void heard.push('all changed'),
    hearing: (hears) => void heard.push(hears ? 'hearing' : 'deaf'),
  });
  await expect.poll(() => reader.ready()).toMatchObject({ note: expect.stringContaining('+client|tracking') });
  expect(heard).toEqual([]);
  await redis.admin.call('ACL', 'SETUSER', 'lacking', '+client|tracking');
  // It asks again after five seconds. It connects anew, and forgets once more when it is told of changes.
  await expect.poll(() => heard, { timeout: 30_000 }).toEqual(['all changed', 'all changed']);
  expect(await reader.ready()).toEqual({ ready: true });
  await using _ = beating((n) => redis.admin.set(keys.fence(0), `1:${n}:ada:led`));
  /** What is heard at a pause that falls between two messages. */
  const paused = () => {
    if (heard.at(-1) !== 'hearing') return null;
    const nowMs = performance.now() + 10_000;
    const now = vi.spyOn(performance, 'now').mockReturnValue(nowMs);
    reader.noticePause!();
    now.mockRestore();
    return heard.slice(-2);
  };
  await expect.poll(paused).toEqual(['deaf', 'all changed']);
});

it('what is closed leaves no connection; schema texts are found again by their names', async () => {
  await using redis = await scene();
  const { settings, admin } = redis;
  const connections = async () =>
    String(await admin.call('CLIENT', 'LIST'))
      .trim()
      .split('\n').length;
  const [writer, live, texts, reader] = [
    await redisViewWriter(settings),
    await redisLiveViews(settings),
    redisSchemaTexts(settings),
    redisViewReader(settings),
  ];
  let hears = 0;
  reader.listen({ changed() {}, allChanged: () => void hears++, hearing() {} });
  await texts.keep(new Map([['a', '{"type":"ä"}']]));
  expect([await texts.names(), await texts.find('a'), await texts.find('b')]).toEqual([['a'], '{"type":"ä"}', null]);
  await expect.poll(() => hears).toBe(1);
  expect(await connections()).toBe(6);
  for (const each of [writer, live, texts, reader]) await each.close();
  await expect.poll(connections).toBe(1);
});
