import { expect, it } from 'vitest';
import type { RedisConnection } from '../../../../infra/redis/redis-connection.ts';
import { redisKeys } from '../../../../infra/redis/redis-keys.ts';
import { viewWriterOver } from '../../../../infra/redis/views/redis-view-writer.ts';
import { readStored } from '../../../../infra/redis/views/stored-views.ts';
import { readerKey } from '../../../../schemas/views/reader-fields.ts';
import { parseKey, rideKey, riderKey } from '../../../../schemas/views/view-kinds.ts';
import { SteppingClock } from '../../../support/stores/stepping-clock.ts';
import { fieldsWrite, valueWrite } from '../../../support/stores/view-names.ts';
import { connectionInMemory } from './script-cases.ts';

const keys = redisKeys('app:');
const ada = readerKey('ada');
const { tag } = parseKey(ada);
const hash = parseKey(ada);

/** Writers over one Redis in memory, whose masters say of themselves what `infos` say. */
async function scene(infos: string[] = ['maxmemory_policy:noeviction\r\n']) {
  const { connection } = await connectionInMemory();
  const sent: string[] = [];
  const warned: string[] = [];
  const over: RedisConnection = {
    command: (key, args) => {
      sent.push(String(args[0]));
      return connection.command(key, args);
    },
    masters: async () => {
      const [scan] = await connection.masters();
      sent.push('masters');
      return infos.map((info) => (args) => (args[0] === 'INFO' ? Promise.resolve(Buffer.from(info)) : scan!(args)));
    },
    close: async () => void sent.push('closed'),
  };
  const clock = new SteppingClock();
  const log = { info() {}, warn: (line: string) => void warned.push(line), error() {} };
  const writer = (owner: string) => {
    const made = viewWriterOver(over, keys, owner, { clock, log });
    const leadership = made.leadership!;
    const look = async () => (await leadership.look([tag]))[0]!;
    return { ...made, leadership, look, take: async () => leadership.take(tag, (await look()).fence, false) };
  };
  const text = async (key: string) => String(await connection.command(key, ['GET', key]));
  const fields = async () => {
    const [stored] = await readStored(connection, keys, [hash]);
    return stored && 'fields' in stored
      ? Object.fromEntries([...stored.fields!].map(([f, v]) => [f, String(v)]))
      : null;
  };
  return { connection, sent, warned, writer, text, fields };
}

it('a batch sets and removes fields, replaces a hash, and sets and deletes values', async () => {
  const { connection, writer, fields } = await scene();
  const w = writer('one');
  await w.take();
  const [loop, gone] = ['loop', 'gone'].map((id) => ({ tag, kind: 'foreign', id }) as const);
  await w.commit(tag, [
    fieldsWrite(ada, { a: '1', b: '2' }),
    { kind: 'foreign', id: loop!.id, value: Buffer.from('L') },
    { kind: 'foreign', id: gone!.id, value: Buffer.from('G') },
  ]);
  await w.commit(tag, [
    { kind: 'foreign', id: gone!.id, value: null },
    fieldsWrite(ada, { a: null, c: '3' }),
    { kind: 'foreign', id: loop!.id, value: Buffer.from('M') },
  ]);
  expect(await fields()).toEqual({ b: '2', c: '3' });
  expect(await readStored(connection, keys, [loop!, gone!])).toEqual([
    { ...loop, bytes: Buffer.from('M'), whole: true },
    null,
  ]);
  await w.commit(tag, [{ ...fieldsWrite(ada, { d: '4' }), replaces: true }]);
  expect(await fields()).toEqual({ d: '4' });
  await w.commit(tag, [{ ...fieldsWrite(ada, {}), replaces: true }]);
  expect(await fields()).toBeNull();
});

it('names are noted for the next leader in a round, and not without one; a position ends those of its round', async () => {
  const { writer } = await scene();
  const w = writer('one');
  expect(await w.take()).toEqual({ position: null, open: [], compare: false });
  expect((await w.look()).position).toBeNull();
  await w.commit(tag, [fieldsWrite(ada, { a: '1' })]);
  expect((await w.take())!.open).toEqual([]);
  await w.commit(tag, [fieldsWrite(ada, { b: '1' })], { round: 2 });
  await w.commit(tag, [], { position: { text: 'P', round: 2 } });
  expect(await w.take()).toEqual({ position: 'P', open: ['reader:ada/b'], compare: false });
  expect(await w.commit(tag, [fieldsWrite(ada, { c: '1' })], { round: 1 })).toMatchObject({ compare: false });
  await w.commit(tag, [], { position: { text: 'Q', round: 2 } });
  expect(await w.take()).toEqual({ position: 'Q', open: [], compare: false });
  expect(await w.commit(tag, [], { compare: 'begin' })).toMatchObject({ committed: true, compare: true });
  expect(await w.take()).toEqual({ position: 'Q', open: [], compare: true });
});

it('a writer is fenced by another owner who took the tag since, and has lost it otherwise', async () => {
  const { connection, writer, text } = await scene();
  const [one, two] = [writer('one'), writer('two')];
  const fence = keys.fence(tag);
  expect(await one.commit(tag, [])).toEqual({ committed: false, reason: 'lost' });
  await one.take();
  const epoch = Number((await text(fence)).split(':')[0]);
  for (const [found, reason] of [
    ['', 'lost'],
    [`${epoch}:7:one:led`, 'lost'],
    [`${epoch + 1}:0:one:led`, 'lost'],
    [`${epoch - 1}:0:two:led`, 'lost'],
    [`${epoch}:0:two:led`, 'fenced'],
    [`${epoch + 1}:0:two:led`, 'fenced'],
  ] as const) {
    await connection.command(fence, ['SET', fence, found]);
    expect([found, await one.commit(tag, [])]).toEqual([found, { committed: false, reason }]);
  }
  await two.take();
  await one.leadership.free(tag);
  expect(await text(fence)).toMatch(/:two:led$/);
});

it('a fence is as this writer left it, or as a batch did whose reply was lost', async () => {
  const { writer } = await scene();
  const [one, two] = [writer('one'), writer('two')];
  await one.take();
  await one.commit(tag, []);
  const { fence } = await one.look();
  const sequence = (n: number) => fence.replace(/:\d+:one/, `:${n}:one`);
  expect([0, 1, 2, 3].map((n) => one.leadership.isAsLeft(tag, sequence(n)))).toEqual([false, true, true, false]);
  expect(two.leadership.isAsLeft(tag, fence)).toBe(false);
  await two.leadership.free(tag);
  await one.leadership.free(tag);
  expect((await one.look()).fence).toBe(fence.replace(':led', ':free'));
});

it('who stands by, and how old a change is that is not readable, is written as operators read it', async () => {
  const { writer, text } = await scene();
  const { leadership } = writer('one');
  await leadership.coming([3, 5]);
  expect([await text(keys.coming(3)), await text(keys.coming(5))]).toEqual(['one:1000000', 'one:1000000']);
  await leadership.unreadable(1_500);
  expect(await text(keys.unreadable())).toBe('1500');
  await leadership.unreadable(null);
  expect(await text(keys.unreadable())).toBe('');
});

it('keys of another type are told wherever they are found, but none that should not be there', async () => {
  const { connection, warned, writer } = await scene();
  const spoil = (key: string) => connection.command(key, ['ZADD', key, '1', 'x']);
  const { read, list } = writer('one');
  await spoil(keys.toRedis(rideKey('read')));
  await spoil(keys.toRedis(riderKey('listed')));
  await spoil(`${keys.prefix}tag:{v5}:foreign`);
  await connection.command('', ['SET', keys.toRedis(rideKey('fine')), 'x']);
  expect(await read([parseKey(rideKey('fine')), parseKey(rideKey('none'))])).toMatchObject([{ id: 'fine' }, null]);
  expect(warned).toEqual([]);
  await read([parseKey(rideKey('read'))]);
  expect(warned).toHaveLength(1);
  const listed = await Array.fromAsync(list([5, parseKey(riderKey('listed')).tag]));
  expect(listed.map(({ kind }) => kind).sort()).toEqual(['foreign', 'rider']);
  expect(listed[0]).toMatchObject({ whole: false });
  expect([warned.length, warned[1]]).toEqual([2, expect.stringContaining('a key of kind rider')]);
});

it('a script is sent by its digest, and whole where the server does not know it', async () => {
  const { sent, writer } = await scene();
  const w = writer('one');
  await w.take();
  await w.commit(tag, []);
  await w.commit(tag, []);
  await w.close();
  expect(sent).toEqual(['masters', 'MGET', 'EVALSHA', 'EVAL', 'EVALSHA', 'EVAL', 'EVALSHA', 'closed']);
  const other = viewWriterOver(
    {
      command: async (_, [name]) => Promise.reject(new Error(`OOM ${name}`)),
      masters: async () => [],
      close: async () => {},
    },
    keys,
    'two',
  );
  await expect(other.leadership!.take(tag, '', false)).rejects.toThrow('OOM EVALSHA');
});

it('a Redis that evicts keys is refused at each look, one that does not is asked once, and one that says nothing is used', async () => {
  const evicting = (await scene(['maxmemory_policy:noeviction\r\n', 'maxmemory_policy:allkeys-lru\r\n'])).writer('one');
  for (let i = 0; i < 2; i++)
    await expect(evicting.look()).rejects.toMatchObject({
      retry: false,
      message: expect.stringMatching(/is allkeys-lru,/),
    });
  const { sent, writer } = await scene(['']);
  const silent = writer('one');
  for (let i = 0; i < 2; i++) expect(await silent.look()).toEqual({ fence: '', position: null });
  expect(sent).toEqual(['masters', 'MGET', 'MGET']);
});

it('the masters have as much room as if each were as full as the fullest', async () => {
  const info = (used: number, max: number) => `used_memory:${used}\r\nmaxmemory:${max}\r\n`;
  const roomOf = async (...infos: string[]) => (await scene(infos)).writer('one').leadership.room();
  expect(await roomOf(info(10, 100), info(30, 100), info(20, 100))).toBe(210);
  expect(await roomOf(info(10, 100), 'used_memory:5\r\n')).toBe(180);
  expect(await roomOf('used_memory:5\r\n')).toBeNull();
});

it('a value is written in the batch that it belongs to', async () => {
  const { writer } = await scene();
  const { tag: rideTag } = parseKey(rideKey('loop'));
  const w = writer('one');
  await w.leadership.take(rideTag, '', false);
  await w.commit(rideTag, [valueWrite(rideKey('loop'), Buffer.from('a'))]);
  expect(await w.read([parseKey(rideKey('loop'))])).toMatchObject([{ bytes: Buffer.from('a') }]);
});
