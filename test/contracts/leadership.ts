import { describe, expect, it } from 'vitest';
import { takeAll } from '../../projector/leading/standby.ts';
import { isFree } from '../../projector/ports/leading.ts';
import type { Leadership, ViewWriter } from '../../projector/ports/view-writer.ts';
import { readerKey } from '../../schemas/views/reader-fields.ts';
import { allTags, completeKey } from '../../schemas/views/view-keys.ts';
import { parseKey, rideKey } from '../../schemas/views/view-kinds.ts';
import { encodeView } from '../../schemas/views/view-values.ts';
import { complete, lead } from '../support/stores/lead.ts';
import { fieldsWrite, valueWrite } from '../support/stores/view-names.ts';
import { storeFor, type ViewStoreFixture } from './view-store.ts';

const ride = rideKey('ride1');
const { tag } = parseKey(ride);
const view = (text: string): Buffer => encodeView({}, Buffer.from(text));

/** The promises of `Leadership` (projector/ports/view-writer.ts), which every store that several projectors share keeps. */
export function leadershipContract(name: string, makeFixture: () => Promise<ViewStoreFixture>): void {
  describe(`${name} as a store that projectors share`, () => {
    const store = storeFor(makeFixture);
    const writer = async () => (await store.writer()) as ViewWriter & { leadership: Leadership };
    const leader = async () => (await store.leader()) as ViewWriter & { leadership: Leadership };
    const fences = async ({ leadership }: ViewWriter, tags = allTags): Promise<string[]> =>
      (await leadership!.look(tags)).map(({ fence }) => fence);

    // docs/rules.md#fence
    it('lets one of a hundred that take all tags at once have them, and write', async () => {
      const writers = await Promise.all(Array.from({ length: 100 }, writer));
      const seen = await fences(writers[0]!);
      const taken = await Promise.all(writers.map(({ leadership }) => takeAll(leadership, allTags, seen)));
      expect(taken.filter((each) => each !== null)).toHaveLength(1);
      const results = await Promise.all(writers.map((each) => each.commit(tag, [valueWrite(ride, view('x'))])));
      expect(results.map(({ committed }) => committed)).toEqual(taken.map((each) => each !== null));
    }, 60_000);

    it('fences an older leader once a newer one leads, and not a byte of it is written', async () => {
      const [older, newer] = [await writer(), await writer()];
      await lead(older);
      await older.commit(tag, [valueWrite(ride, view('old'))]);
      await lead(newer);
      const late = await older.commit(tag, [valueWrite(ride, view('zombie'))]);
      expect(late).toEqual({ committed: false, reason: 'fenced' });
      await newer.commit(tag, [valueWrite(ride, view('new'))]);
      await complete(newer, allTags);
      const r = store.reader();
      await expect.poll(() => r.get([ride]).catch(() => null)).toEqual([view('new')]);
    });

    it('writes nothing of a leader into an emptied store, before it has taken the tag again as doubtful', async () => {
      const w = await leader();
      await complete(w, [tag]);
      await store.empty();
      expect(await w.commit(tag, [valueWrite(ride, view('1'))])).toEqual({ committed: false, reason: 'lost' });
      const [fence] = await fences(w, [tag]);
      expect([fence, w.leadership.isAsLeft(tag, fence!)]).toEqual(['', false]);
      expect(await w.leadership.take(tag, '', true)).toEqual({ position: null, open: [], compare: true });
      expect(await w.commit(tag, [valueWrite(ride, view('2'))])).toMatchObject({ committed: true, compare: true });
    });

    it('knows a fence as this leader left it, and one that a batch left whose reply was lost; its epoch is the store’s time', async () => {
      const [one, other] = [await writer(), await writer()];
      await lead(one);
      await one.commit(tag, []);
      const [fence] = await fences(one, [tag]);
      const [epoch, sequence, owner, state] = fence!.split(':');
      expect(Math.abs(Number(epoch) - Date.now())).toBeLessThan(60_000);
      const later = (batches: number) => [epoch, Number(sequence) + batches, owner, state].join(':');
      expect([0, 1, 2].map((batches) => one.leadership.isAsLeft(tag, later(batches)))).toEqual([true, true, false]);
      expect(other.leadership.isAsLeft(tag, fence!)).toBe(false);
    });

    it('says that a tag is free once its leader gave it up, and lets that one write no more', async () => {
      const [one, other] = [await writer(), await writer()];
      await lead(one);
      const areFree = async () => (await fences(other)).map(isFree);
      expect(new Set(await areFree())).toEqual(new Set([false]));
      for (const each of allTags) await one.leadership.free(each);
      expect(new Set(await areFree())).toEqual(new Set([true]));
      expect(await one.commit(tag, [valueWrite(ride, view('late'))])).toMatchObject({ committed: false });
      await lead(other);
      // Too late to give it up.
      await one.leadership.free(tag);
      expect(await other.commit(tag, [])).toMatchObject({ committed: true });
    });

    it('keeps the stamp of a tag that is taken, but not of a doubtful one', async () => {
      const [one, other] = [await writer(), await writer()];
      await lead(one);
      await complete(one, allTags);
      await lead(other);
      const r = store.reader();
      await expect.poll(async () => (await r.ready()).ready).toBe(true);
      await other.leadership.take(tag, (await fences(other, [tag]))[0]!, true);
      expect(await r.get([completeKey(tag)])).toEqual([null]);
    });

    it('hands over the position and the names written since its round began, and no older ones', async () => {
      const [one, other] = [await writer(), await writer()];
      await lead(one);
      const hash = fieldsWrite(readerKey('ride1'), { 'o2026-01-01': 'a=1' });
      await one.commit(tag, [valueWrite(ride, view('1'))], { round: 1 });
      await one.commit(tag, [hash], { round: 2 });
      await one.commit(tag, [], { position: { text: 'P2', round: 2 } });
      await one.commit(tag, [valueWrite(ride, view('2'))], { round: 3 });
      await one.commit(tag, [valueWrite(rideKey('not noted'), view('3'))]);
      const [seen] = await other.leadership.look([tag]);
      expect(seen).toMatchObject({ position: 'P2' });
      const taken = await other.leadership.take(tag, seen!.fence, false);
      expect({ ...taken, open: taken!.open.toSorted() }).toEqual({
        position: 'P2',
        open: ['reader:ride1/o2026-01-01', 'ride:ride1'],
        compare: false,
      });
      // The first round of the new leader includes them: its position cuts them off.
      await other.commit(tag, [], { round: 1, position: { text: 'P3', round: 1 } });
      const [again] = await fences(other, [tag]);
      expect(await one.leadership.take(tag, again!, false)).toEqual({ position: 'P3', open: [], compare: false });
    });

    // docs/rules.md#fence
    describe('by one beat of several tags', () => {
      const [first] = allTags as [number];
      const asking = { stamp: '' };
      const beating = async () => {
        const w = await leader();
        return { ...w, beat: w.beat! };
      };

      it('moves the first fence alone, says which process this is, and stamps all of them for it', async () => {
        const w = await beating();
        const before = await fences(w);
        const asked = await w.beat(allTags, asking);
        expect(asked).toEqual({ committed: true, process: expect.stringMatching(/^\w+:\w+$/), asked: '' });
        const after = await fences(w);
        expect([after[0] === before[0], after.slice(1)]).toEqual([false, before.slice(1)]);
        expect(allTags.map((each) => w.leadership.isAsLeft(each, after[each]!))).toEqual(allTags.map(() => true));
        const r = store.reader();
        const stamps = () => r.get(allTags.map(completeKey)).catch(() => null);
        await w.beat(allTags, { stamp: 'another:process' });
        expect((await r.ready()).ready).toBe(false);
        await w.beat(allTags, { stamp: asked.committed ? asked.process : '' });
        await expect.poll(async () => (await r.ready()).ready).toBe(true);
        expect((await stamps())!.map(String)).toEqual(allTags.map(() => asked.committed && asked.process));
        for (const each of [first, tag]) expect(await w.commit(each, [])).toMatchObject({ committed: true });
      });

      it('stores the position in all of them, and cuts the lists that it is told to', async () => {
        const [w, other] = [await beating(), await writer()];
        await w.commit(tag, [valueWrite(ride, view('1'))], { round: 1 });
        await w.commit(tag, [valueWrite(rideKey('ride2'), view('2'))], { round: 2 });
        const beat = (text: string, round: number, cut: number[]) =>
          w.beat(allTags, { ...asking, position: { text, round, cut } });
        expect(await beat('P1', 1, [])).toMatchObject({ committed: true });
        await beat('P2', 2, [tag]);
        const looks = await other.leadership.look(allTags);
        expect(new Set(looks.map(({ position }) => position))).toEqual(new Set(['P2']));
        const taken = await other.leadership.take(tag, looks[tag]!.fence, false);
        expect(taken!.open.filter((name) => name.startsWith('ride:'))).toEqual(
          parseKey(rideKey('ride2')).tag === tag ? ['ride:ride2'] : taken!.open,
        );
        expect(taken!.open).not.toContain('ride:ride1');
      });

      it.each([
        ['lost', null],
        ['fenced', first],
        ['fenced', allTags.at(-1)!],
      ] as const)(
        'writes nothing to any of them where one is not as it was left, and says how: %s, %s',
        async (reason, of) => {
          const w = await beating();
          const asked = await w.beat(allTags, asking);
          if (of === null) await store.empty();
          else await (await writer()).leadership.take(of, (await fences(w, [of]))[0]!, false);
          const before = await w.leadership.look(allTags);
          const position = { text: 'P', round: 1, cut: allTags };
          const stamp = asked.committed ? asked.process : '';
          expect(await w.beat(allTags, { stamp, position })).toEqual({ committed: false, reason });
          expect(await w.leadership.look(allTags)).toEqual(before);
          const r = store.reader();
          expect((await r.ready()).ready).toBe(false);
          // Of those that are as they were left it may go on.
          const left = allTags.filter((each) => each !== of);
          expect((await w.beat(left, asking)).committed).toBe(reason === 'fenced');
        },
      );
    });

    it('tells each look what the tags say now, whatever it said before', async () => {
      const [w, other] = [await leader(), await writer()];
      const look = (tags = allTags) => other.leadership.look(tags);
      const all = await look();
      expect(await look()).toEqual(all);
      await w.commit(tag, [], { position: { text: 'P1', round: 1 } });
      const some = await look([tag]);
      expect(some).toEqual([{ fence: expect.not.stringMatching(all[tag]!.fence), position: 'P1' }]);
      const now = all.with(tag, some[0]!);
      expect(await Promise.all([look(), look(), look([tag]), look()])).toEqual([now, now, some, now]);
      await w.leadership.free(0);
      expect([await other.leadership.isFree(0), await other.leadership.isFree(1)]).toEqual([true, false]);
      await store.empty();
      const none = { fence: '', position: null };
      expect(await Promise.all([look(), look([tag])])).toEqual([allTags.map(() => none), [none]]);
      expect(await other.leadership.isFree(0)).toBe(false);
    });

    it('says compare in place of a list that is too long, or where a leader doubts, until a compare has ended', async () => {
      const w = await leader();
      const take = async () => (await w.leadership.take(tag, (await fences(w, [tag]))[0]!, false))!;
      for (let i = 0; i <= 100; i++) {
        const fields = Object.fromEntries(Array.from({ length: 200 }, (_, field) => [`o${i}-${field}`, 'x']));
        await w.commit(tag, [fieldsWrite(readerKey('ride1'), fields)], { round: 1 });
      }
      expect(await take()).toMatchObject({ open: [], compare: true });
      const ended = await w.commit(tag, [], { position: { text: 'P', round: 9 }, compare: 'end' });
      expect(ended).toMatchObject({ committed: true, compare: false });
      expect(await take()).toEqual({ position: 'P', open: [], compare: false });
      expect(await w.commit(tag, [], { compare: 'begin' })).toMatchObject({ compare: true });
      expect(await take()).toMatchObject({ compare: true });
    }, 60_000);
  });
}
