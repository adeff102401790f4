import { expect, it } from 'vitest';
import { redisKeys } from '../../../../infra/redis/redis-keys.ts';
import { listStored, liveViewsOver, readStored } from '../../../../infra/redis/views/stored-views.ts';
import type { StoredName } from '../../../../projector/ports/view-writer.ts';
import { readerKey } from '../../../../schemas/views/reader-fields.ts';
import { allTags } from '../../../../schemas/views/view-keys.ts';
import { parseKey, rideKey, riderKey } from '../../../../schemas/views/view-kinds.ts';
import { SharedStore } from '../../../support/stores/shared-store.ts';

// What is not as views should be. The contract of view stores has the rest.

const keys = redisKeys('app:');
const [loop, ada, card, bo] = [rideKey('loop'), readerKey('ada'), riderKey('ada'), readerKey('bo')].map(
  parseKey,
) as StoredName[];
const lost = { tag: 5, kind: 'foreign', id: 'tag:{v5}:lost' } as const;

/** A store with views, others with keys of another type, and keys that should not be there. */
async function scene() {
  const { connection } = new SharedStore();
  const ask = (...args: (string | Buffer)[]) => connection.command('', args);
  const nameOf = ({ tag, kind, id }: StoredName) => keys.of(tag, kind, id);
  await ask('SET', nameOf(loop!), '');
  await ask('HSET', nameOf(ada!), 'f1', 'a');
  await ask('ZADD', nameOf(card!), '1', 'x');
  await ask('SET', nameOf(bo!), 'x');
  await ask('SET', nameOf(lost), 'x');
  await ask('SET', Buffer.from(`${keys.prefix}tag:{v5}:\xff`, 'latin1'), 'x');
  await ask('SET', `${keys.prefix}in no tag`, 'x');
  await ask('SET', keys.position(5), 'a note');
  await ask('SET', 'app:g0:tag:{v5}:lost', 'of another format');
  return { connection, ask, live: liveViewsOver(connection, keys) };
}

const stored = (whole: boolean) => [
  { ...loop!, bytes: Buffer.alloc(0), whole },
  { ...ada!, fields: new Map([['f1', Buffer.from('a')]]) },
  { ...card!, bytes: null, whole },
  { ...bo!, fields: null },
  { ...lost, bytes: Buffer.from('x'), whole },
];
const byId = (a: { id: string }, b: { id: string }): number => a.id.localeCompare(b.id);

it('what is stored in some tags is listed and read with what is of another type, and what should not be there', async () => {
  const { connection, live } = await scene();
  const listed = async (tags: readonly number[], whole: boolean) =>
    (await Array.fromAsync(listStored(connection, keys, { tags: new Set(tags), whole }))).sort(byId);
  for (const whole of [true, false]) expect(await listed(allTags, whole)).toEqual(stored(whole).sort(byId));
  expect(await listed([5], false)).toEqual([stored(false)[4]]);
  expect(await listed([-1], false)).toMatchObject([{ tag: -1, id: 'in no tag' }]);
  const inNoTag = { tag: -1, kind: 'foreign', id: 'in no tag', bytes: Buffer.from('x'), whole: true };
  expect((await Array.fromAsync(live.list())).sort(byId)).toEqual([...stored(true), inNoTag].sort(byId));
  expect(live.spell(loop!)).toBe(keys.of(loop!.tag, 'ride', 'loop'));
  expect(await readStored(connection, keys, [rideKey('none'), readerKey('none')].map(parseKey))).toEqual([null, null]);
  expect(await live.read([loop!, ada!, card!, bo!, lost])).toEqual(stored(true));
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
  const note = { fence: '1:2:ada:led', position: 'a note', compare: false };
  const none = { fence: '', position: null, compare: false };
  expect(await live.notes([5, 6])).toEqual([note, none]);
  // The leader finds by itself that the list of the other tag is none.
  await live.askCompare([5, 6]);
  expect(await live.notes([5, 6])).toEqual([{ ...note, compare: true }, none]);
  // A beat, which reads no lists, is told so, each time anew.
  const asked = async () => String(await ask('GET', keys.asked()));
  const before = await asked();
  await live.askCompare([5]);
  expect([before, await asked()]).not.toContain('null');
  expect(await asked()).not.toBe(before);
});
