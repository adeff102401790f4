import { expect, it } from 'vitest';
import { MemoryViewStore } from '../../../infra/memory/memory-view-store.ts';
import { compareStored } from '../../../projector/checking/comparison.ts';
import type { StoredView, ViewWrite } from '../../../projector/ports/view-writer.ts';
import { allTags, tagOf } from '../../../schemas/views/view-keys.ts';
import { turnsDuring } from '../../support/stores/event-loop-turns.ts';
import { foldOf, rendered, storedView, viewsOf } from '../../support/stores/rendered-views.ts';
import { SteppingClock } from '../../support/stores/stepping-clock.ts';
import { dumpViews } from '../../support/stores/view-dump.ts';
import { smallWorld } from '../../support/worlds/small-world.ts';

const { facts } = foldOf(smallWorld.records);
const views = viewsOf(facts);
const missingFirst = () => views.slice(1).map(storedView);

async function* each(all: readonly StoredView[]): AsyncGenerator<StoredView> {
  yield* all;
}

// P20
it('a compare mends views and fields that are missing, different or extra, counts them, and touches nothing else', async () => {
  const store = new MemoryViewStore();
  const writer = store.writer();
  const compare = () => compareStored(facts, writer.list(allTags), allTags, (tag, write) => commit(tag, write));
  const commit = async (tag: number, ...writes: ViewWrite[]) => void (await writer.commit(tag, writes));
  await compare();
  const right = await dumpViews(store);
  expect([right.size, await compare()]).toEqual([rendered(facts).size, 0]);
  const [gone, wrong] = [...rendered(facts).keys()].flatMap((name) => name.split('reader:ada/')[1] ?? []);
  const extra = { field: 'o1999-01-04', value: 'x' };
  const fields = [{ field: gone!, value: null }, { field: wrong!, value: 'x' }, extra];
  await commit(tagOf('ada'), { kind: 'reader', id: 'ada', fields });
  await commit(tagOf('ghost'), { kind: 'reader', id: 'ghost', fields: [extra] });
  const value = Buffer.from('x');
  await commit(tagOf('loop'), { kind: 'ride', id: 'loop', value: null });
  for (const id of ['cafe', 'odd']) await commit(tagOf(id), { kind: 'ride', id, value });
  expect(await compare()).toBe(7);
  expect(await dumpViews(store)).toEqual(right);
});

it('a comparison hands over what is missing a few tags at a time', async () => {
  const tags: number[] = [];
  await compareStored(facts, each([]), allTags, (tag) => void tags.push(tag));
  expect(tags).toEqual(tags.toSorted((a, b) => Math.floor(a / 4) - Math.floor(b / 4)));
});

it('a comparison gives others their turn, says how far it is, and stops when it is told to', async () => {
  const clock = new SteppingClock();
  clock.nowMs = () => (clock.ms += 11);
  const told: number[] = [];
  const onCompared = (more: number): void => void told.push(more);
  const comparing = () => compareStored(facts, each(missingFirst()), allTags, () => {}, { clock, onCompared });
  // For each that is listed, for the missing one, and now and then for those that are passed.
  const turns = await turnsDuring(comparing);
  expect([turns >= views.length + 2, turns < 2 * views.length]).toEqual([true, true]);
  expect([told.reduce((a, b) => a + b), Math.max(...told), told.at(-1)]).toEqual([views.length, 1, 0]);
  told.length = 0;
  clock.nowMs = () => 0;
  expect(await turnsDuring(comparing)).toBeLessThan(3);
  expect(told).toEqual([views.length]);

  for (const stopAt of [0, 3, views.length]) {
    const stop = new AbortController();
    const { signal } = stop;
    let listed = 0;
    const list = async function* () {
      for (const one of missingFirst()) {
        if (listed++ === stopAt) stop.abort(new Error('told to'));
        yield one;
      }
      stop.abort(new Error('told to'));
    };
    await expect(compareStored(facts, list(), allTags, () => {}, { signal })).rejects.toThrow('told to');
    expect(listed).toBe(Math.min(stopAt + 1, views.length - 1));
  }
  const signal = AbortSignal.abort(new Error('before'));
  await expect(compareStored(facts, each([]), allTags, () => {}, { signal })).rejects.toThrow('before');
});
