import { afterEach, describe, expect, it } from 'vitest';
import type { Arg, RedisConnection } from '../../../../infra/redis/redis-connection.ts';
import { redisKeys } from '../../../../infra/redis/redis-keys.ts';
import { viewWriterOver } from '../../../../infra/redis/views/redis-view-writer.ts';
import { readerKey } from '../../../../schemas/views/reader-fields.ts';
import { parseKey } from '../../../../schemas/views/view-kinds.ts';
import { RedisInMemory } from '../../../simulator/redis-in-memory.ts';
import { fieldsWrite } from '../../../support/stores/view-names.ts';

const ada = readerKey('ada');
const { tag } = parseKey(ada);
const change = [fieldsWrite(ada, { 'f2026-01-01': 'a' })];

interface Connected {
  connection: RedisConnection;
  keyPrefix: string;
}

export async function connectionInMemory(): Promise<Connected> {
  const redis = new RedisInMemory(Date.now);
  const master = async (args: readonly Arg[]): Promise<unknown> => redis.command(args);
  const connection = { command: (_: string, args: Arg[]) => master(args), masters: async () => [master] };
  return { connection: { ...connection, close: async () => {} }, keyPrefix: '' };
}

/** What the scripts leave in the store, key by key, in memory and on a real Redis. */
export function scriptCases(name: string, connect: () => Promise<Connected>): void {
  describe(`a script on ${name}`, () => {
    const open: RedisConnection[] = [];
    afterEach(async () => {
      for (const each of open.splice(0)) await each.close();
    });

    async function scene() {
      const { connection, keyPrefix } = await connect();
      open.push(connection);
      const keys = redisKeys(keyPrefix);
      const warned: string[] = [];
      const lost = { replies: 0 };
      const ask = (...args: Arg[]): Promise<unknown> => connection.command(keys.fence(tag), args);
      const command: RedisConnection['command'] = async (key, args) => {
        const reply = await connection.command(key, args);
        if (!['EVAL', 'EVALSHA'].includes(String(args[0])) || lost.replies === 0) return reply;
        lost.replies -= 1;
        throw new Error('The reply was lost');
      };
      const log = { info() {}, warn: (line: string) => void warned.push(line), error() {} };
      const writer = (owner: string) => {
        const made = viewWriterOver({ ...connection, command }, keys, owner, { log });
        const fence = async () => (await made.leadership!.look([tag]))[0]!.fence;
        const take = async (doubtful = false) => (await made.leadership!.take(tag, await fence(), doubtful))!;
        const stamp = async (): Promise<void> => {
          const asked = await made.commit(tag, [], { stamp: '' });
          await made.commit(tag, [], { stamp: asked.committed ? asked.process : '' });
        };
        return { ...made, take, stamp };
      };
      const text = async (key: string): Promise<string | null> => {
        const value = await ask('GET', key);
        return value === null ? null : String(value);
      };
      /** Another program writes a key with another type. */
      const spoil = async (key: string): Promise<void> => {
        await ask('DEL', key);
        if (key === keys.open(tag)) await ask('SET', key, 'x');
        else await ask('ZADD', key, '1', 'x');
      };
      const isTold = (key: string): boolean =>
        warned.some((line) => line.includes(key === keys.toRedis(ada) ? `kind reader in tag ${tag}` : key));
      return { keys, ask, lost, writer, text, spoil, isTold };
    }

    // docs/rules.md#complete
    it.each(['a rider’s hash', 'the open list'])('that finds another type in %s doubts the tag', async (what) => {
      const { keys, ask, writer, text, spoil, isTold } = await scene();
      const w = writer('one');
      await w.take();
      await w.commit(tag, change, { round: 1 });
      await w.stamp();
      expect(await text(keys.complete(tag))).not.toBeNull();
      const key = what === 'the open list' ? keys.open(tag) : keys.toRedis(ada);
      await spoil(key);
      expect(await w.commit(tag, change, { round: 2 })).toEqual({ committed: false, reason: 'lost' });
      expect([await text(keys.complete(tag)), await text(keys.fence(tag))]).toEqual([null, null]);
      expect((await ask('ZRANGE', keys.open(tag), '0', '-1')) as Buffer[]).toEqual([Buffer.from('compare')]);
      if (what !== 'the open list') expect(await ask('HMGET', key, 'f2026-01-01')).toEqual([null]);
      expect(isTold(key)).toBe(true);
    });

    it('that finds another type in the position, the stamp or the word that it is led writes and names it', async () => {
      const { keys, writer, text, spoil, isTold } = await scene();
      const w = writer('one');
      await w.take();
      for (const key of [keys.position(tag), keys.complete(tag), keys.led(tag)]) await spoil(key);
      await w.commit(tag, [], { round: 1, position: { text: 'p', round: 1 } });
      await w.stamp();
      expect([await text(keys.position(tag)), await text(keys.led(tag))]).toEqual(['p', 'one']);
      expect(await text(keys.complete(tag))).not.toBeNull();
      expect([keys.position(tag), keys.complete(tag), keys.led(tag)].map(isTold)).toEqual([true, true, true]);
    });

    it('that takes a tag whose notes have another type has it compared, and names them', async () => {
      const { keys, writer, spoil, isTold } = await scene();
      for (const key of [keys.fence(tag), keys.position(tag), keys.open(tag)]) await spoil(key);
      expect(await writer('one').take()).toEqual({ position: null, open: [], compare: true });
      expect([keys.fence(tag), keys.position(tag), keys.open(tag)].map(isTold)).toEqual([true, true, true]);
    });

    // docs/rules.md#beginning
    it('that takes a tag keeps its compare until one of a later leader has ended', async () => {
      const { writer } = await scene();
      const [one, two, three, four] = ['one', 'two', 'three', 'four'].map(writer);
      await one!.take(true);
      expect((await two!.take()).compare).toBe(true);
      await two!.commit(tag, [], { round: 3, position: { text: 'p', round: 3 } });
      expect((await three!.take()).compare).toBe(true);
      await three!.commit(tag, [], { round: 3, compare: 'end' });
      expect((await four!.take()).compare).toBe(false);
    });

    // docs/rules.md#ready-api
    it('that stamps a tag says who led it to the log’s ends, until it is taken again', async () => {
      const { keys, writer, text } = await scene();
      const one = writer('one');
      await one.take();
      expect(await text(keys.led(tag))).toBeNull();
      await one.stamp();
      expect(await text(keys.led(tag))).toBe('one');
      await one.take();
      expect(await text(keys.led(tag))).toBeNull();
      const two = writer('two');
      await one.stamp();
      await two.take();
      await two.stamp();
      expect(await text(keys.led(tag))).toBe('two');
    });

    // docs/rules.md#fence
    it('whose reply was lost is answered when it is sent again', async () => {
      const { writer, lost } = await scene();
      const one = writer('one');
      const fence = (await one.leadership!.look([tag]))[0]!.fence;
      lost.replies = 1;
      await expect(one.leadership!.take(tag, fence, false)).rejects.toThrow('lost');
      expect(await one.leadership!.take(tag, fence, false)).toEqual({ position: null, open: [], compare: false });
      lost.replies = 1;
      await expect(one.commit(tag, change, { round: 1 })).rejects.toThrow('lost');
      expect(await one.commit(tag, change, { round: 1 })).toMatchObject({ committed: true });
    });

    it('that takes a tag gives it a fence that no term of its leader had, though the store is restored', async () => {
      const { keys, ask, writer, text } = await scene();
      const w = writer('one');
      const key = keys.fence(tag);
      // As if the clock of Redis had gone back since: the next epoch comes from the fence that is found.
      const before = `${Date.now() + 3_600_000}:3:another:free`;
      const takeFromBefore = async (): Promise<string> => {
        await ask('SET', key, before);
        expect(await w.leadership!.take(tag, before, false)).not.toBeNull();
        return (await text(key))!;
      };
      const taken = await takeFromBefore();
      await w.commit(tag, []);
      const left = (await text(key))!;
      await takeFromBefore();
      await w.commit(tag, []);
      expect(await text(key)).not.toBe(left);
      await ask('SET', key, left);
      expect(w.leadership!.isAsLeft(tag, left)).toBe(false);
      expect(await w.commit(tag, [])).toEqual({ committed: false, reason: 'lost' });
      expect(await text(key)).toBe(left);
      await ask('SET', key, taken);
      expect(await w.leadership!.take(tag, before, false)).toBeNull();
    });

    it('that frees a tag frees its own alone, whatever another program has put there', async () => {
      const { keys, writer, text, spoil } = await scene();
      const [one, two] = ['one', 'two'].map(writer);
      await one!.take();
      await two!.take();
      await one!.leadership!.free(tag);
      expect(await text(keys.fence(tag))).toMatch(/:two:led$/);
      await two!.leadership!.free(tag);
      expect(await text(keys.fence(tag))).toMatch(/:two:free$/);
      await spoil(keys.fence(tag));
      await two!.leadership!.free(tag);
    });
  });
}
