import { describe, expect, it } from 'vitest';
import { StoreAwayError } from '../../../../api/ports/view-reader.ts';
import { guardedReads } from '../../../../infra/redis/views/guarded-reads.ts';
import { readerKey } from '../../../../schemas/views/reader-fields.ts';
import { completeKey, tagOf } from '../../../../schemas/views/view-keys.ts';
import { rideKey } from '../../../../schemas/views/view-kinds.ts';

const loop = rideKey('loop');
const view = Buffer.from('a view');

/** Reads of a store with one ride. `meanwhile` happens while a command is under way. */
function reads({ meanwhile = () => {}, isCluster = false }: { meanwhile?: () => void; isCluster?: boolean } = {}) {
  const guard = { covered: true, current: true, reason: null as string | null };
  const asked: (readonly string[])[] = [];
  const askedAgain: (readonly string[])[] = [];
  const store = new Map([
    [loop, view],
    [completeKey(0), Buffer.from('this process')],
    [completeKey(1), Buffer.from('another process')],
  ]);
  const { get, fields, areComplete } = guardedReads({
    commands: {
      async get(keys) {
        asked.push(keys);
        meanwhile();
        return keys.map((key) => store.get(key) ?? null);
      },
      async again(keys) {
        askedAgain.push(keys);
        if (keys.includes(rideKey('of another type'))) throw new Error('WRONGTYPE');
        // A view that is replaced after the first command.
        store.set(rideKey('replaced'), view);
        store.set(completeKey(2), Buffer.from('this process'));
        return keys.map((key) => store.get(key) ?? null);
      },
      async fields() {
        return [view];
      },
    },
    guard: {
      covers: (tags) => guard.covered || [...tags].length === 0,
      isComplete: (_, stamp) => stamp === 'this process',
      get current() {
        return guard.current;
      },
      get reason() {
        return guard.reason;
      },
    },
    isCluster,
  });
  return { guard, asked, askedAgain, get, fields, areComplete };
}

describe('a read of views', () => {
  it('gives each key its value, asked for once, and null for what is absent', async () => {
    const { get, asked, askedAgain } = reads();
    expect(await get([loop, rideKey('none'), loop])).toEqual([view, null, view]);
    expect([asked, askedAgain]).toEqual([[[loop, rideKey('none')]], [[rideKey('none')]]]);
  });

  it('is one command per tag in a cluster', async () => {
    const { get, asked } = reads({ isCluster: true });
    const other = [...Array(9).keys()].map((i) => `ride${i}`).find((id) => tagOf(id) !== tagOf('loop'))!;
    expect(await get([loop, rideKey(other)])).toEqual([view, null]);
    expect(asked).toEqual([[loop], [rideKey(other)]]);
  });

  it('is refused where views may be lost, also where that is noticed while it was under way', async () => {
    const lost = reads({ meanwhile: () => Object.assign(lost.guard, { covered: false }) });
    await expect(lost.get([loop])).rejects.toThrow(StoreAwayError);
    expect(lost.asked).toHaveLength(1);
    await expect(lost.get([loop])).rejects.toThrow(StoreAwayError);
    await expect(lost.fields(readerKey('ada'), ['f1'])).rejects.toThrow(StoreAwayError);
    expect(lost.asked).toHaveLength(1);
  });

  it('is refused, with the reason, where views may not be served', async () => {
    const { guard, get, fields } = reads();
    Object.assign(guard, { current: false });
    await expect(get([loop])).rejects.toThrow('not known yet');
    guard.reason = 'nobody leads';
    await expect(get([loop])).rejects.toThrow('nobody leads');
    await expect(fields(readerKey('ada'), ['f1'])).rejects.toThrow('nobody leads');
  });

  it('does not take for absent what had another type at first, and was replaced before its type was asked for', async () => {
    expect(await reads().get([rideKey('replaced'), rideKey('none')])).toEqual([view, null]);
  });

  it('says whether a tag is complete as of its first command, though a view of the tag has come since', async () => {
    const { get } = reads();
    const names = [rideKey('replaced'), completeKey(2)];
    expect(await get(names)).toEqual([view, null]);
    expect(await get(names)).toEqual([view, Buffer.from('this process')]);
  });

  it('fails where a view has another type: it is not known to be absent', async () => {
    await expect(reads().get([loop, rideKey('of another type')])).rejects.toThrow('Cannot read views: WRONGTYPE');
  });

  it('takes tags for complete where all are stamped for this process, also before views may be served', async () => {
    const { guard, areComplete, get } = reads();
    expect(await areComplete([0, 1])).toBe(false);
    expect(await get([completeKey(1)])).toEqual([null]);
    Object.assign(guard, { current: false });
    expect(await areComplete([0])).toBe(true);
  });
});
