import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RedisServer, startRedisServer } from '../../../infra/local/redis-server.ts';
import { redisSignInState } from '../../../infra/redis/sign-in/redis-sign-in-state.ts';
import { redisSchemaTexts } from '../../../infra/redis/views/redis-schema-texts.ts';
import { redisViewReader } from '../../../infra/redis/views/redis-view-reader.ts';
import { redisViewWriter } from '../../../infra/redis/views/redis-view-writer.ts';
import type { ViewWriter } from '../../../projector/ports/view-writer.ts';
import { readerKey } from '../../../schemas/views/reader-fields.ts';
import { allTags } from '../../../schemas/views/view-keys.ts';
import { parseKey, rideKey } from '../../../schemas/views/view-kinds.ts';
import { freshKeyPrefix } from '../../support/servers/backends.ts';
import { startRedisCluster } from '../../support/servers/redis-cluster.ts';
import { redisRights, redisUserLacking, redisUserWith, refusedByRedis } from '../../support/servers/redis-users.ts';
import { complete, lead } from '../../support/stores/lead.ts';
import { fieldsWrite, valueWrite } from '../../support/stores/view-names.ts';

// A Redis user that lacks a right makes a service that seems to work: what is missing is named, in the words to grant it.

let server: RedisServer;
let admin: Redis;
const keyPrefix = freshKeyPrefix();
beforeAll(async () => {
  server = await startRedisServer();
  admin = new Redis(server.url);
  const writer = await redisViewWriter({ url: server.url, cluster: false, keyPrefix });
  await lead(writer);
  await complete(writer, allTags);
  await writer.close();
});
afterAll(async () => {
  admin.disconnect();
  await server.stop();
});

describe('a reader', () => {
  it.each([
    ['+subscribe', true],
    ['&__redis__:invalidate', true],
    ['+client|id', true],
    ['+client|tracking', true],
    ['+hmget', true],
    ['+info', false],
    ['+mget', false],
    ['~', false],
  ])('whose user lacks %s says so: it is ready, %s', async (lacking, isReady) => {
    const { url, named } = await redisUserLacking(lacking, { user: 'api', url: server.url, keyPrefix });
    const reader = redisViewReader({ url, cluster: false, keyPrefix });
    reader.listen({ changed() {}, allChanged() {}, hearing() {} });
    const said = async () => {
      const state = await reader.ready();
      const words = (state.ready ? state.note : state.reason) ?? '';
      return [state.ready, words.includes('grant it') && words.includes(named)];
    };
    try {
      await expect.poll(said).toEqual([isReady, true]);
      if (lacking === '+hmget') await expect(reader.fields(readerKey('x'), ['a'])).rejects.toThrow('hmget');
    } finally {
      await reader.close();
    }
  });
});

describe('a writer', () => {
  const lacking = redisRights('projector', '').filter((right) => /^\+(?!cluster\|)/.test(right));

  it.each([...lacking, '~'])('whose user lacks %s is told to wait, naming it', async (right) => {
    const prefix = freshKeyPrefix();
    const of = { user: 'projector', url: server.url, keyPrefix: prefix } as const;
    const { url, named } = await redisUserLacking(right, of);
    await admin.script('FLUSH');
    const writer = await redisViewWriter({ url, cluster: false, keyPrefix: prefix });
    try {
      const texts = redisSchemaTexts({ url, cluster: false, keyPrefix: prefix });
      const everything = (async () => {
        await writeAll(writer);
        await texts.keep(new Map([['a', 'b']]));
        await Promise.all([texts.names(), texts.find('a')]);
      })().finally(() => texts.close());
      // A PING that is refused is an answer: what it is sent for.
      const message = expect.stringContaining(named);
      if (right === '+ping') await everything;
      else await expect(everything).rejects.toMatchObject({ retry: true, message });
    } finally {
      await writer.close();
    }
  });
});

/** All that a projector does to a store. */
async function writeAll(writer: ViewWriter): Promise<void> {
  await lead(writer);
  await writer.leadership!.coming([0]);
  const reader = readerKey('x');
  const { tag } = parseKey(reader);
  await complete(writer, [tag]);
  await writer.commit(tag, [fieldsWrite(reader, { a: '1', b: '2' })], { round: 1 });
  // Its names are handed over.
  await lead(writer, [tag]);
  await writer.commit(tag, [], { position: { text: '{}', round: 1 }, compare: 'end' });
  await writer.commit(tag, [valueWrite(rideKey('x'), Buffer.from('a view'))]);
  for await (const _ of writer.list([tag]));
  await writer.commit(tag, [fieldsWrite(reader, { a: null })]);
  await writer.commit(tag, [valueWrite(rideKey('x'), null)], { round: 2, compare: 'begin' });
  await writer.beat?.([tag], { stamp: '', position: { text: '{}', round: 3, cut: [tag] } });
  await writer.leadership!.free(tag);
}

it('the rights are enough on a Redis Cluster, whose tags that nobody leads and whose memory an API knows too', async () => {
  const cluster = await startRedisCluster();
  const limitBytes = 40_000_000;
  // The other masters have the machine's memory.
  const fullest = new Redis(cluster.nodes[1]!.url);
  await fullest.config('SET', 'maxmemory', limitBytes);
  fullest.disconnect();
  // This one holds more, in a slot of its own.
  const largest = new Redis(cluster.nodes[0]!.url);
  await largest.set('b', 'x'.repeat(8_000_000));
  largest.disconnect();
  const urls = cluster.nodes.map(({ url }) => url);
  const prefix = freshKeyPrefix();
  const settingsOf = async (user: Parameters<typeof redisRights>[0]) => ({
    url: await redisUserWith(urls, user, redisRights(user, prefix)),
    cluster: true,
    keyPrefix: prefix,
  });
  const writer = await redisViewWriter(await settingsOf('projector'));
  const reader = redisViewReader(await settingsOf('api'));
  const state = redisSignInState(await settingsOf('sign-in'));
  const heard: boolean[] = [];
  reader.listen({ changed() {}, allChanged() {}, hearing: (now) => void heard.push(now) });
  const waits = { timeout: 20_000, interval: 50 };
  const beat = async (tags: readonly number[]) => {
    await Promise.all(tags.map((tag) => writer.commit(tag, [])));
    return reader.unledTags!();
  };
  try {
    await writeAll(writer);
    await lead(writer);
    const serves = async () => {
      await complete(writer, allTags);
      return [await reader.ready(), heard.at(-1)];
    };
    await expect.poll(serves, { interval: 400 }).toEqual([{ ready: true }, true]);
    await expect.poll(() => beat(allTags), waits).toBe(0);
    await expect.poll(() => beat(allTags.slice(5)), waits).toBe(5);
    for (const memory of [reader.memory!, state.memory!]) {
      const known = () => memory().catch(() => null);
      await expect.poll(known, waits).toEqual({ usedBytes: expect.any(Number), limitBytes });
      expect((await known())!.usedBytes).toBeGreaterThan(500_000);
    }
    for (const user of ['projector', 'api', 'sign-in'])
      expect([user, await refusedByRedis(urls, user)]).toEqual([user, []]);
    await cluster.stop();
    await expect.poll(reader.unledTags!, waits).toBeNull();
  } finally {
    await Promise.all([writer.close(), reader.close(), state.close()]);
    await cluster.stop();
  }
}, 90_000);
