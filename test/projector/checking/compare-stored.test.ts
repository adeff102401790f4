import { expect, it } from 'vitest';
import { compareStored } from '../../../projector/checking/comparison.ts';
import type { StoredView, ViewWrite } from '../../../projector/ports/view-writer.ts';
import { allTags, tagOf } from '../../../schemas/views/view-keys.ts';
import { turnsDuring } from '../../support/stores/event-loop-turns.ts';
import { foldOf, viewsOf } from '../../support/stores/rendered-views.ts';
import { smallWorld } from '../../support/worlds/small-world.ts';

const { facts } = foldOf(smallWorld.records);
const views = viewsOf(facts);

function stored(write: ViewWrite): StoredView {
  const tag = tagOf(write.id);
  if (write.kind !== 'reader') return { tag, kind: write.kind, id: write.id, bytes: write.value, whole: true };
  const fields = new Map(write.fields.map(({ field, value }) => [field, Buffer.from(value!)]));
  return { tag, kind: 'reader', id: write.id, fields };
}
const rightStore = () => views.map(stored);

async function* each(all: readonly StoredView[]): AsyncGenerator<StoredView> {
  yield* all;
}

it('a comparison hands over what is missing a few tags at a time', async () => {
  const tags: number[] = [];
  await compareStored(facts, each([]), allTags, (tag) => void tags.push(tag));
  expect(tags).toEqual(tags.toSorted((a, b) => Math.floor(a / 4) - Math.floor(b / 4)));
});

it('a comparison gives others their turn, says how far it is, and stops when it is told to', async () => {
  let nowMs = 0;
  const clock = { nowMs: () => (nowMs += 11), wallMs: () => 0, sleep: async () => {} };
  const told: number[] = [];
  const onCompared = (more: number): void => void told.push(more);
  const comparing = () => compareStored(facts, each(rightStore().slice(1)), allTags, () => {}, { clock, onCompared });
  // For each that is listed, for the missing one, and now and then for those that are passed.
  expect(await turnsDuring(comparing)).toBeGreaterThanOrEqual(views.length + 2);
  expect([told.reduce((a, b) => a + b), Math.max(...told), told.at(-1)]).toEqual([views.length, 1, 0]);

  for (const stopAt of [0, 3, views.length]) {
    const stop = new AbortController();
    const { signal } = stop;
    let listed = 0;
    const list = async function* () {
      for (const one of rightStore().slice(1)) {
        if (listed++ === stopAt) stop.abort(new Error('told to'));
        yield one;
      }
      stop.abort(new Error('told to'));
    };
    await expect(compareStored(facts, list(), allTags, () => {}, { signal })).rejects.toThrow('told to');
    expect(listed).toBe(Math.min(stopAt + 1, views.length - 1));
  }
  const stopped = compareStored(facts, each([]), allTags, () => {}, {
    signal: AbortSignal.abort(new Error('before')),
  });
  await expect(stopped).rejects.toThrow('before');
});
