import { describe, expect, it } from 'vitest';
import { compareStored } from '../../../projector/checking/comparison.ts';
import type { StoredView, ViewWrite } from '../../../projector/ports/view-writer.ts';
import { allTags, tagOf } from '../../../schemas/views/view-keys.ts';
import { digestLength } from '../../../schemas/views/view-values.ts';
import { turnsDuring } from '../../support/stores/event-loop-turns.ts';
import { foldOf, viewsOf } from '../../support/stores/rendered-views.ts';
import { smallWorld } from '../../support/worlds/small-world.ts';

const { facts } = foldOf(smallWorld.records);
const views = viewsOf(facts);

/** A view as it is stored: all of it, or a value's digest alone. */
function stored(write: ViewWrite, whole = true): StoredView {
  const tag = tagOf(write.id);
  if (write.kind !== 'reader') {
    const bytes = whole ? write.value : write.value!.subarray(0, digestLength);
    return { tag, kind: write.kind, id: write.id, bytes, whole };
  }
  const fields = new Map(write.fields.map(({ field, value }) => [field, Buffer.from(value!)]));
  return { tag, kind: 'reader', id: write.id, fields };
}
const rightStore = () => views.map((write) => stored(write));
const named = (id: string, kind = 'ride') => views.find((write) => write.kind === kind && write.id === id)!;

async function* each(all: readonly StoredView[]): AsyncGenerator<StoredView> {
  yield* all;
}

/** What mends a store, how many views differ, and how many were compared. */
async function compared(all: readonly StoredView[], tags: readonly number[] = allTags) {
  const mended: [number, ViewWrite][] = [];
  let seen = 0;
  const mend = (tag: number, write: ViewWrite): void => void mended.push([tag, write]);
  const onCompared = (more: number): void => {
    seen += more;
  };
  return { differing: await compareStored(facts, each(all), tags, mend, { onCompared }), mended, seen };
}

describe('a comparison', () => {
  it('finds a value of which the digest alone is right, where all bytes are compared', async () => {
    const loop = named('loop') as Extract<ViewWrite, { value: unknown }>;
    const wrong = Buffer.from(loop.value!);
    wrong[wrong.length - 1]! ^= 1;
    for (const whole of [true, false]) {
      const all = rightStore().filter(({ id, kind }) => id !== 'loop' || kind !== 'ride');
      const { mended } = await compared([...all, stored({ ...loop, value: wrong }, whole)]);
      expect(mended).toEqual(whole ? [[tagOf('loop'), loop]] : []);
    }
  });

  it('finds each field of a rider’s hash, and replaces a hash that is none, or has a field that no write can name', async () => {
    const ada = named('ada', 'reader') as Extract<ViewWrite, { fields: unknown }>;
    const others = rightStore().filter(({ id, kind }) => id !== 'ada' || kind !== 'reader');
    const of = { tag: tagOf('ada'), kind: 'reader', id: 'ada' } as const;
    const right = ada.fields.map(({ field, value }) => [field, Buffer.from(value!)] as const);
    const [[first], ...rest] = right as [readonly [string, Buffer], ...(readonly [string, Buffer])[]];
    const mendedOf = async (fields: Map<string, Buffer> | null) => {
      const { mended, differing } = await compared([...others, { ...of, fields }]);
      return [differing, ...mended.map(([, write]) => write)];
    };
    const write = (fields: unknown[], more = {}) => ({ kind: 'reader', id: 'ada', fields, ...more });
    expect(await mendedOf(new Map(rest))).toEqual([1, write([ada.fields[0]])]);
    expect(await mendedOf(new Map([[first, Buffer.from('x')], ...rest]))).toEqual([1, write([ada.fields[0]])]);
    const both = write([ada.fields[0], { field: 'extra', value: null }]);
    expect(await mendedOf(new Map([...rest, ['extra', Buffer.from('x')]]))).toEqual([2, both]);
    const whole = write([...ada.fields], { replaces: true });
    expect(await mendedOf(null)).toEqual([ada.fields.length, whole]);
    expect(await mendedOf(new Map([...right, ['\ufffd', Buffer.from('x')]]))).toEqual([ada.fields.length, whole]);
    const ghost = { tag: 9, kind: 'reader', id: 'ghost', fields: null } as const;
    const { mended, differing } = await compared([...rightStore(), ghost]);
    expect([differing, mended]).toEqual([1, [[9, { kind: 'reader', id: 'ghost', fields: [], replaces: true }]]]);
  });

  it('gives others their turn, says how far it is, and stops when it is told to', async () => {
    let nowMs = 0;
    const clock = { nowMs: () => (nowMs += 11), wallMs: () => 0, sleep: async () => {} };
    const told: number[] = [];
    const onCompared = (more: number): void => void told.push(more);
    const comparing = () => compareStored(facts, each(rightStore().slice(1)), allTags, () => {}, { clock, onCompared });
    expect(await turnsDuring(comparing)).toBeGreaterThanOrEqual(2 * views.length - 1);
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
});
