import { expect, it } from 'vitest';
import { redisKeys } from '../../../../infra/redis/redis-keys.ts';
import { listStored, liveViewsOver, readStored } from '../../../../infra/redis/views/stored-views.ts';
import type { StoredName } from '../../../../projector/ports/view-writer.ts';
import { readerKey } from '../../../../schemas/views/reader-fields.ts';
import { allTags } from '../../../../schemas/views/view-keys.ts';
import { parseKey, rideKey, riderKey } from '../../../../schemas/views/view-kinds.ts';
import { digestLength } from '../../../../schemas/views/view-values.ts';
import { connectionInMemory } from './script-cases.ts';

const keys = redisKeys('app:');
const value = 'a value that is longer than its digest';
const digest = value.slice(0, digestLength);
const [loop, ada, card] = [rideKey('loop'), readerKey('ada'), riderKey('ada')].map(parseKey) as StoredName[];

/** A store with a view of each shape, others with keys of another type, and keys that should not be there. */
async function scene() {
  const { connection } = await connectionInMemory();
  const ask = (...args: (string | Buffer)[]) => connection.command('', args);
  const nameOf = ({ tag, kind, id }: StoredName) => keys.of(tag, kind, id);
  await ask('SET', nameOf(loop!), value);
  await ask('HSET', nameOf(ada!), 'f1', 'a', 'f2', 'b');
  await ask('ZADD', nameOf(card!), '1', 'x');
  await ask('SET', keys.toRedis(readerKey('bo')), 'x');
  await ask('SET', keys.toRedis(rideKey('empty')), '');
  await ask('SET', `${keys.prefix}tag:{v5}:lost`, 'x');
  await ask('SET', Buffer.from(`${keys.prefix}tag:{v5}:\xff`, 'latin1'), 'x');
  await ask('SET', `${keys.prefix}in no tag`, 'x');
  await ask('SET', keys.position(5), 'a note');
  await ask('SET', 'app:g0:tag:{v5}:lost', 'of another format');
  return { connection, ask, live: liveViewsOver(connection, keys) };
}

async function listed(tags: readonly number[], whole = false): Promise<Record<string, unknown>> {
  const { connection } = await scene();
  const found = await Array.fromAsync(listStored(connection, keys, { tags: new Set(tags), whole }));
  return Object.fromEntries(
    found.map((view) => {
      const text = 'fields' in view ? view.fields && Object.fromEntries(view.fields) : view.bytes;
      return [`${view.tag} ${view.kind}:${view.id}`, JSON.parse(JSON.stringify(text, asText))];
    }),
  );
}

const asText = (_: string, one: unknown): unknown =>
  (one as { type?: string } | null)?.type === 'Buffer' ? String(Buffer.from((one as { data: number[] }).data)) : one;

const shapes = (ofLoop: string) => ({
  [`${loop!.tag} ride:loop`]: ofLoop,
  [`${ada!.tag} reader:ada`]: { f1: 'a', f2: 'b' },
  [`${card!.tag} rider:ada`]: null,
  [`${parseKey(readerKey('bo')).tag} reader:bo`]: null,
  [`${parseKey(rideKey('empty')).tag} ride:empty`]: '',
  '5 foreign:tag:{v5}:lost': 'x',
});
const nowhere = { '-1 foreign:in no tag': 'x' };

it('all that is stored in some tags is listed by digests, or whole', async () => {
  expect(await listed(allTags)).toEqual(shapes(digest));
  expect(await listed(allTags, true)).toEqual(shapes(value));
  expect(await listed([5])).toEqual({ '5 foreign:tag:{v5}:lost': 'x' });
  expect(await listed([5, loop!.tag])).toEqual({
    '5 foreign:tag:{v5}:lost': 'x',
    [`${loop!.tag} ride:loop`]: digest,
  });
  expect(await listed([-1])).toEqual(nowhere);
});

it('a running service is listed whole, with keys that are in no tag', async () => {
  const { live } = await scene();
  const found = await Array.fromAsync(live.list());
  expect(found).toHaveLength(Object.keys({ ...shapes(value), ...nowhere }).length);
  expect(found.find(({ kind }) => kind === 'ride')).toMatchObject({ whole: true });
  expect(await live.read([loop!])).toEqual([{ ...loop!, bytes: Buffer.from(value), whole: true }]);
  expect(live.spell(loop!)).toBe(keys.toRedis(rideKey('loop')));
});

it('views are read whole by their names, and null where there is none', async () => {
  const { connection } = await scene();
  const none = [rideKey('none'), readerKey('none')].map(parseKey);
  const found = await readStored(connection, keys, [...none, ada!, card!]);
  const fields = new Map([
    ['f1', Buffer.from('a')],
    ['f2', Buffer.from('b')],
  ]);
  expect(found).toEqual([null, null, { ...ada!, fields }, { ...card!, bytes: null, whole: true }]);
});

it('a key that cannot be read is none of another type', async () => {
  const { connection } = await scene();
  const away = { ...connection, command: async () => Promise.reject(new Error('Redis is away')) };
  await expect(readStored(away, keys, [loop!])).rejects.toThrow('away');
  await expect(liveViewsOver(away, keys).askCompare([5])).rejects.toThrow('away');
});

it('the notes of a tag are told, and it is compared once somebody asks, whatever another program wrote there', async () => {
  const { ask, live } = await scene();
  await ask('SET', keys.fence(5), '1:2:ada:led');
  await ask('SET', keys.open(6), 'x');
  expect(await live.notes([5, 6])).toEqual([
    { fence: '1:2:ada:led', position: 'a note', compare: false },
    { fence: '', position: null, compare: false },
  ]);
  await live.askCompare([5, 6]);
  expect((await live.notes([5, 6, 7])).map(({ compare }) => compare)).toEqual([true, true, false]);
});
