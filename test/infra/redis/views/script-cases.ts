import { describe, expect, it } from 'vitest';
import type { ViewReader } from '../../../../api/ports/view-reader.ts';
import type { RedisConnection } from '../../../../infra/redis/redis-connection.ts';
import { redisKeys } from '../../../../infra/redis/redis-keys.ts';
import { viewWriterOver } from '../../../../infra/redis/views/redis-view-writer.ts';
import { readerKey } from '../../../../schemas/views/reader-fields.ts';
import { parseKey } from '../../../../schemas/views/view-kinds.ts';
import { leadershipContract } from '../../../contracts/leadership.ts';
import { SharedStore } from '../../../support/stores/shared-store.ts';
import { fieldsWrite } from '../../../support/stores/view-names.ts';

const ada = readerKey('ada');
const { tag } = parseKey(ada);
const change = [fieldsWrite(ada, { 'f2026-01-01': 'a' })];
const keys = redisKeys('app:');
const notes = { fence: keys.fence(tag), position: keys.position(tag), open: keys.open(tag), led: keys.led(tag) };
const complete = keys.complete(tag);

/** A Redis in memory, and writers to it whose replies may be lost. */
function scene() {
  const { connection } = new SharedStore();
  const lost = { replies: 0 };
  const ask = (...args: string[]): Promise<unknown> => connection.command('', args);
  const command: RedisConnection['command'] = async (key, args) => {
    const reply = await connection.command(key, args);
    if (!['EVAL', 'EVALSHA'].includes(String(args[0])) || lost.replies === 0) return reply;
    lost.replies -= 1;
    throw new Error('The reply was lost');
  };
  const writer = (owner: string) => {
    const made = viewWriterOver({ ...connection, command }, keys, owner);
    const leadership = made.leadership!;
    const fence = async () => (await leadership.look([tag]))[0]!.fence;
    const stamp = async (): Promise<void> => {
      const asked = await made.commit(tag, [], { stamp: '' });
      await made.commit(tag, [], { stamp: asked.committed ? asked.process : '' });
    };
    return { ...made, leadership, stamp, take: async () => (await leadership.take(tag, await fence(), false))! };
  };
  const text = async (key: string): Promise<string | null> =>
    ((await ask('GET', key)) as Buffer | null)?.toString() ?? null;
  /** Another program writes a key with another type. */
  const spoil = (key: string) => ask('DEL', key).then(() => ask('SADD', key, 'x'));
  return { ask, lost, writer, text, spoil };
}

/** What the scripts leave in the store, beside the contract of those who share it. */
export function viewScriptCases(): void {
  leadershipContract('a Redis in memory', async () => {
    const store = new SharedStore();
    return {
      writer: async () => store.writer(),
      reader: () => ({ ...store.reader(), close: async () => {} }) as unknown as ViewReader,
      empty: async () => store.redis.empty(),
      close: async () => {},
    };
  });

  it('a standby says that it lives, and a leader how old its oldest change is, for all tags of one Redis', async () => {
    const { writer, text } = scene();
    const { leadership } = writer('one');
    await leadership.coming([tag, tag + 1]);
    expect([await text(keys.coming(tag)), await text(keys.coming(tag + 1))]).toEqual([
      expect.stringMatching(/^one:\d+$/),
      null,
    ]);
    for (const [ageMs, said] of [
      [1_500, '1500'],
      [0, '0'],
      [null, ''],
    ] as const) {
      await leadership.unreadable(ageMs);
      expect(await text(keys.unreadable())).toBe(said);
    }
  });

  describe('a script', () => {
    // docs/rules.md#complete
    it.each([keys.toRedis(ada), notes.open])('that finds another type in %s doubts the tag', async (key) => {
      const { ask, writer, text, spoil } = scene();
      const w = writer('one');
      await w.take();
      await w.commit(tag, change, { round: 1 });
      await w.stamp();
      expect(await text(complete)).not.toBeNull();
      await spoil(key);
      expect(await w.commit(tag, change, { round: 2 })).toEqual({ committed: false, reason: 'lost' });
      expect([await text(complete), await text(notes.fence)]).toEqual([null, null]);
      expect(await ask('ZRANGE', notes.open, '0', '-1')).toEqual([Buffer.from('compare')]);
      if (key !== notes.open) expect(await ask('HMGET', key, 'f2026-01-01')).toEqual([null]);
    });

    // docs/rules.md#ready-api
    it('that stamps a tag says who led it to the log’s ends, until it is taken again', async () => {
      const { writer, text } = scene();
      const one = writer('one');
      await one.take();
      expect(await text(notes.led)).toBeNull();
      await one.stamp();
      expect(await text(notes.led)).toBe('one');
      await one.take();
      expect(await text(notes.led)).toBeNull();
    });

    // docs/rules.md#fence
    it('whose reply was lost is answered when it is sent again', async () => {
      const { writer, lost } = scene();
      const one = writer('one');
      lost.replies = 1;
      await expect(one.leadership.take(tag, '', false)).rejects.toThrow('lost');
      expect(await one.leadership.take(tag, '', false)).toEqual({ position: null, open: [], compare: false });
      lost.replies = 1;
      await expect(one.commit(tag, change, { round: 1 })).rejects.toThrow('lost');
      expect(await one.commit(tag, change, { round: 1 })).toMatchObject({ committed: true });
    });

    it('of a beat whose reply was lost is answered when it is sent again, and is carried out once', async () => {
      const { ask, writer, lost, text } = scene();
      const one = writer('one');
      const fences = [tag, tag + 1].map(keys.fence);
      for (const each of [tag, tag + 1]) await one.leadership.take(each, '', false);
      await one.commit(tag + 1, [], {});
      const notes = { stamp: '', position: { text: 'P1', round: 1, cut: [] } };
      lost.replies = 1;
      await expect(one.beat!([tag, tag + 1], notes)).rejects.toThrow('lost');
      const left = await Promise.all(fences.map(text));
      await ask('SET', keys.position(tag), 'P2');
      expect(await one.beat!([tag, tag + 1], notes)).toMatchObject({ committed: true });
      expect(await Promise.all([...fences, keys.position(tag)].map(text))).toEqual([...left, 'P2']);
      expect(await one.beat!([tag, tag + 1], { stamp: '' })).toMatchObject({ committed: true });
    });

    it('of a beat that finds an open list of another type doubts that tag', async () => {
      const { ask, writer, text, spoil } = scene();
      const one = writer('one');
      for (const each of [tag, tag + 1]) await one.leadership.take(each, '', false);
      await one.stamp();
      await spoil(notes.open);
      const cut = { text: 'P1', round: 1, cut: [tag + 1, tag] };
      expect(await one.beat!([tag + 1, tag], { stamp: '', position: cut })).toEqual({
        committed: false,
        reason: 'lost',
      });
      expect([await text(complete), await text(notes.fence)]).toEqual([null, null]);
      expect(await ask('ZRANGE', notes.open, '0', '-1')).toEqual([Buffer.from('compare')]);
      expect(await text(keys.fence(tag + 1))).not.toBeNull();
    });

    it('that takes a tag gives it a fence that no term of its leader had, though the store is restored', async () => {
      const { ask, writer, text } = scene();
      const w = writer('one');
      // As if the clock of Redis had gone back since: the next epoch comes from the fence that is found.
      const before = `${Date.now() + 3_600_000}:3:another:free`;
      const takeFromBefore = async (): Promise<string> => {
        await ask('SET', notes.fence, before);
        expect(await w.leadership.take(tag, before, false)).not.toBeNull();
        return (await text(notes.fence))!;
      };
      const taken = await takeFromBefore();
      await w.commit(tag, []);
      const left = (await text(notes.fence))!;
      await takeFromBefore();
      await w.commit(tag, []);
      expect(await text(notes.fence)).not.toBe(left);
      await ask('SET', notes.fence, left);
      expect(w.leadership.isAsLeft(tag, left)).toBe(false);
      expect(await w.commit(tag, [])).toEqual({ committed: false, reason: 'lost' });
      await ask('SET', notes.fence, taken);
      expect(await w.leadership.take(tag, before, false)).toBeNull();
    });

    it('of a beat for tags of which one was never taken is lost', async () => {
      const { writer } = scene();
      const one = writer('one');
      await one.take();
      for (const tags of [[tag, tag + 1], [tag + 1, tag], [tag + 1]])
        expect(await one.beat!(tags, { stamp: '' })).toEqual({ committed: false, reason: 'lost' });
    });

    it('refuses who is fenced by another owner who took the tag since, and who has lost it otherwise', async () => {
      const { ask, writer, text } = scene();
      const one = writer('one');
      await one.take();
      const epoch = Number((await text(notes.fence))!.split(':')[0]);
      for (const [found, reason] of [
        ['', 'lost'],
        [`${epoch}:7:one:led`, 'lost'],
        [`${epoch + 1}:0:one:led`, 'lost'],
        [`${epoch - 1}:0:two:led`, 'lost'],
        [`${epoch}:0:two:led`, 'fenced'],
      ] as const) {
        await ask('SET', notes.fence, found);
        expect([found, await one.commit(tag, [])]).toEqual([found, { committed: false, reason }]);
      }
    });

    it('replaces a hash whole, and removes what should not be there', async () => {
      const { ask, writer } = scene();
      const one = writer('one');
      await one.take();
      await ask('SET', `${keys.prefix}lost`, 'x');
      await one.commit(tag, [fieldsWrite(ada, { a: '1' }), { kind: 'foreign', id: 'lost', value: null }]);
      await one.commit(tag, [{ ...fieldsWrite(ada, { b: '2' }), replaces: true }]);
      const [hash, lost] = await one.read([parseKey(ada), { tag, kind: 'foreign', id: 'lost' }]);
      expect([hash, lost]).toEqual([{ ...parseKey(ada), fields: new Map([['b', Buffer.from('2')]]) }, null]);
      await one.commit(tag, [{ ...fieldsWrite(ada, {}), replaces: true }]);
      expect(await one.read([parseKey(ada)])).toEqual([null]);
    });
  });
}
