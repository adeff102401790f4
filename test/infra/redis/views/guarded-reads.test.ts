import { describe, expect, it } from 'vitest';
import { StoreAwayError } from '../../../../api/ports/view-reader.ts';
import { guardedReads } from '../../../../infra/redis/views/guarded-reads.ts';
import { readerKey } from '../../../../schemas/views/reader-fields.ts';
import { completeKey } from '../../../../schemas/views/view-keys.ts';
import { rideKey } from '../../../../schemas/views/view-kinds.ts';

const [loop, replaced] = [rideKey('loop'), rideKey('replaced')];
const view = Buffer.from('a view');
const here = Buffer.from('this process');

/** Reads of a store with one ride. `meanwhile` happens while a command is under way. */
function reads(meanwhile = () => {}) {
  const guard = { covered: true, formats: { current: true, reason: null as string | null } };
  const asked: (readonly string[])[] = [];
  const store = new Map([
    [loop, view],
    [completeKey(0), here],
    [completeKey(1), Buffer.from('another process')],
  ]);
  const found = (keys: readonly string[]) => keys.map((key) => store.get(key) ?? null);
  const made = guardedReads({
    commands: {
      async get(keys) {
        asked.push(keys);
        meanwhile();
        return found(keys);
      },
      async again(keys) {
        if (keys.includes(rideKey('of another type'))) throw new Error('WRONGTYPE');
        // A view that is replaced after the first command.
        store.set(replaced, view);
        store.set(completeKey(2), here);
        return found(keys);
      },
      fields: async () => [view],
    },
    guard: Object.assign(guard, {
      covers: (tags: Iterable<number>) => guard.covered || [...tags].length === 0,
      isComplete: (_: number, stamp: string) => stamp === 'this process',
    }),
    isCluster: false,
  });
  return { guard, asked, ...made };
}

describe('a read of views', () => {
  it('is refused where views may be lost, also where that is noticed while it was under way', async () => {
    const lost = reads(() => Object.assign(lost.guard, { covered: false }));
    for (let i = 0; i < 2; i++) await expect(lost.get([loop])).rejects.toThrow(StoreAwayError);
    await expect(lost.fields(readerKey('ada'), ['f1'])).rejects.toThrow(StoreAwayError);
    expect(lost.asked).toHaveLength(1);
  });

  it('is refused, with the reason, where views may not be served; whether they are complete is known before', async () => {
    const { guard, get, fields, areComplete } = reads();
    expect([await areComplete([0, 1]), await get([completeKey(1)])]).toEqual([false, [null]]);
    guard.formats.current = false;
    await expect(get([loop])).rejects.toThrow('not known yet');
    guard.formats.reason = 'nobody leads';
    await expect(get([loop])).rejects.toThrow('nobody leads');
    await expect(fields(readerKey('ada'), ['f1'])).rejects.toThrow('nobody leads');
    expect(await areComplete([0])).toBe(true);
  });

  it('takes nothing for absent that had another type at first, and says of the tag what was so then', async () => {
    const { get } = reads();
    const names = [replaced, completeKey(2)];
    expect(await get(names)).toEqual([view, null]);
    expect(await get(names)).toEqual([view, here]);
    await expect(get([loop, rideKey('of another type')])).rejects.toThrow('Cannot read views: WRONGTYPE');
  });
});
