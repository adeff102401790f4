import { describe, expect, it } from 'vitest';
import { beatMs, takeOverMsMin } from '../../../projector/ports/leading.ts';
import type { CommitResult, ValueWrite, ViewWrite, ViewWriter } from '../../../projector/ports/view-writer.ts';
import { TagLanes } from '../../../projector/writing/tag-lanes.ts';
import { allTags, tagOf } from '../../../schemas/views/view-keys.ts';
import { rideKey } from '../../../schemas/views/view-kinds.ts';
import { encodeView } from '../../../schemas/views/view-values.ts';
import { lead } from '../../support/stores/lead.ts';
import { SharedStore } from '../../support/stores/shared-store.ts';
import { SteppingClock } from '../../support/stores/stepping-clock.ts';
import { watchedWriter } from '../../support/stores/watched-writer.ts';

const view = (text: string): Buffer => encodeView({}, null, Buffer.from(text));

/** Ride ids of one tag. */
function idsOf(tag: number, count: number): string[] {
  const ids: string[] = [];
  for (let i = 0; ids.length < count; i++) if (tagOf(`ride${i}`) === tag) ids.push(`ride${i}`);
  return ids;
}
const tag = 5;
const writesOf = (count: number, text = 'x'): ValueWrite[] =>
  idsOf(tag, count).map((id) => ({ kind: 'ride', id, value: view(text) }));

function lanesOver(writer: ViewWriter, signal = new AbortController().signal) {
  const clock = new SteppingClock();
  const lanes = new TagLanes({ writer, clock, signal, tags: allTags, onWritten() {}, onCompare() {} });
  return { lanes, clock };
}

async function ledBy(store: SharedStore): Promise<ViewWriter> {
  const writer = store.writer();
  await lead(writer);
  return writer;
}

describe('tag lanes', () => {
  // docs/rules.md#batch
  it('write batches of at most 200 keys and 512 kB, one at a time in a tag, in the order they came', async () => {
    const store = new SharedStore();
    const batches: (readonly ViewWrite[])[] = [];
    let inFlight = 0;
    const writer = watchedWriter(await ledBy(store), {
      async before(_tag, writes) {
        expect(inFlight++).toBe(0);
        batches.push(writes);
        await new Promise((resolve) => setImmediate(resolve));
        inFlight--;
      },
    });
    const { lanes } = lanesOver(writer);
    const writes = [...writesOf(450), ...writesOf(3, 'y'.repeat(300_000)), ...writesOf(1, 'last')];
    for (const write of writes) await lanes.add(tag, write);
    await lanes.drain();
    expect(batches.flat()).toEqual(writes);
    expect(batches.map((batch) => batch.length)).toEqual([200, 200, 52, 2]);
    const [first] = writesOf(1);
    expect(await store.reader().get([rideKey(first!.id)])).toEqual([view('last')]);
  });

  it('hold back whoever adds once 32 batches are under way, even of one tag', async () => {
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    const writer = watchedWriter(await ledBy(new SharedStore()), { before: () => held });
    const { lanes } = lanesOver(writer);
    let added = 0;
    const adding = (async () => {
      for (const write of writesOf(5, 'y'.repeat(300_000)).flatMap((one) => Array<ValueWrite>(20).fill(one))) {
        await lanes.add(tag, write);
        added += 1;
      }
    })();
    for (let i = 0; i < 200; i++) await new Promise((resolve) => setImmediate(resolve));
    // A batch is full with its second write of 300 kB.
    expect(added).toBe(2 * 32 - 1);
    release();
    await adding;
    expect(await lanes.drain()).toBe(true);
  });

  it('wait for no beat: a store whose answers take longer than a beat is due only delays', async () => {
    const store = new SharedStore();
    let beats = 0;
    const { lanes } = lanesOver(
      watchedWriter(await ledBy(store), {
        // The next beat is due before each answer.
        async before(t) {
          await new Promise((resolve) => setImmediate(resolve));
          if (t === tag && ++beats < 200) lanes.beat();
        },
      }),
    );
    for (const write of writesOf(2)) await lanes.add(tag, write);
    expect(await lanes.drain()).toBe(true);
    expect(beats).toBeLessThan(10);
    expect(await store.reader().get(writesOf(2).map(({ id }) => rideKey(id)))).toEqual([view('x'), view('x')]);
    expect(await lanes.leave()).toBe(true);
    expect(beats).toBeLessThan(20);
    lanes.beat();
    const last = store.redis.snapshot;
    for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
    expect(store.redis.snapshot).toEqual(last);
  });

  it('wait for a store that is away, longer each time up to a second', async () => {
    const store = new SharedStore();
    let failures = 9;
    const writer = watchedWriter(await ledBy(store), {
      before() {
        if (failures-- > 0) throw new Error('no connection');
      },
    });
    const { lanes, clock } = lanesOver(writer);
    for (const write of writesOf(2)) await lanes.add(tag, write);
    expect(await lanes.drain()).toBe(false);
    expect(lanes.isAway(tag)).toBe(true);
    await lanes.written([tag]);
    expect(lanes.isAway(tag)).toBe(false);
    expect(clock.slept).toEqual([50, 100, 200, 400, 800, 1_000, 1_000, 1_000, 1_000]);
    expect(await store.reader().get(writesOf(2).map(({ id }) => rideKey(id)))).toEqual([view('x'), view('x')]);
  });

  it('wait for no other one: a tag whose store is away holds up none of the rest, nor their beats', async () => {
    const committed = new Set<number>();
    const writer = watchedWriter(await ledBy(new SharedStore()), {
      before: (t) => {
        if (t === tag) throw new Error('this master is away');
        committed.add(t);
      },
    });
    const stop = new AbortController();
    const { lanes } = lanesOver(writer, stop.signal);
    for (const write of writesOf(1)) await lanes.add(tag, write);
    expect(await lanes.drain()).toBe(false);
    lanes.beat();
    expect(await lanes.drain()).toBe(false);
    expect([...committed].toSorted((a, b) => a - b)).toEqual(allTags.filter((t) => t !== tag));
    stop.abort();
  });

  it('stamp a process of the store only once every tag, asked since it was noticed, is as it was left', async () => {
    const store = new SharedStore();
    const stamps: { tag: number; process: string; answered: number }[] = [];
    const answered = new Set<number>();
    const writer = watchedWriter(await ledBy(store), {
      after: (t, _writes, { stamp }) => {
        if (stamp) stamps.push({ tag: t, process: stamp, answered: answered.size });
        answered.add(t);
      },
    });
    const { lanes, clock } = lanesOver(writer);
    const settle = async () => {
      for (let i = 0; i < 50; i++) await new Promise((resolve) => setImmediate(resolve));
    };
    lanes.beat();
    await settle();
    // The views do not stand at the ends yet.
    expect(stamps).toEqual([]);
    lanes.beginStamping(lanes.doubts);
    await settle();
    expect(new Set(stamps.map((stamp) => stamp.tag))).toEqual(new Set(allTags));
    stamps.length = 0;
    answered.clear();
    store.restart('second');
    lanes.beat();
    await settle();
    lanes.beat();
    await settle();
    const second = stamps.filter(({ process }) => process === 'second:second');
    expect(new Set(second.map((stamp) => stamp.tag))).toEqual(new Set(allTags));
    expect(second.map((stamp) => stamp.answered)).toEqual(second.map(() => allTags.length));
    // Another may have led meanwhile, and the store be a copy from before that.
    await clock.sleep(takeOverMsMin);
    store.restart('third');
    for (let i = 0; i < 3; i++) {
      lanes.beat();
      await settle();
    }
    const third = () => stamps.filter(({ process }) => process === 'third:third').length;
    expect(third()).toBe(0);
    lanes.beginStamping(lanes.doubts - 1);
    await settle();
    expect(third()).toBe(0);
    lanes.beginStamping(lanes.doubts);
    await settle();
    expect(third()).toBe(allTags.length);
  });
});

describe('lanes over a store that answers at once', () => {
  const tags = [3, 4, 5];

  /** Lanes of three tags, what each batch wrote, and what is told of it. The test says which process answers. */
  function answered() {
    const clock = new SteppingClock();
    const stop = new AbortController();
    const batches: (readonly ViewWrite[])[] = [];
    const told: unknown[][] = [];
    const store = { result: { committed: true, process: 'a', compare: false } as CommitResult };
    const commit = async (_: number, writes: readonly ViewWrite[]) => {
      batches.push(writes);
      return store.result;
    };
    const lanes = new TagLanes({
      ...{ writer: { commit } as unknown as ViewWriter, clock, signal: stop.signal, tags },
      onWritten: (...of) => void told.push(['written', ...of]),
      onCompare: (...of) => void told.push(['compare', ...of]),
      onDoubt: () => void told.push(['doubt']),
    });
    const is = (process: string, compare = false) => {
      store.result = { committed: true, process, compare };
    };
    return { lanes, clock, stop, batches, told, store, is };
  }
  const hash = (fields: number, more = {}): ViewWrite => ({
    ...{ kind: 'reader', id: 'ada' },
    fields: Array.from({ length: fields }, (_, i) => ({ field: `f${i}`, value: 'x' })),
    ...more,
  });
  const shapes = (batches: readonly (readonly ViewWrite[])[]) =>
    batches.map((batch) => batch.map((write) => 'fields' in write && [write.fields.length, write.replaces ?? false]));

  it('keep the parts of a hash that is replaced in one batch, of which the first replaces it', async () => {
    const { lanes, batches } = answered();
    await lanes.add(3, hash(1_200, { replaces: true }));
    await lanes.add(4, hash(500, { replaces: true }));
    await lanes.add(5, hash(501));
    expect(await lanes.drain()).toBe(true);
    const parts = [500, 500, 200].map((fields, i) => [fields, i === 0]);
    expect(shapes(batches)).toEqual([parts, [[500, true]], [[500, false]], [[1, false]]]);
    const names = batches[0]!.flatMap((write) => ('fields' in write ? write.fields.map(({ field }) => field) : []));
    expect(names).toEqual(Array.from({ length: 1_200 }, (_, i) => `f${i}`));
  });

  it('tell what was written, and of tags whose open list has become too long', async () => {
    const { lanes, told, is } = answered();
    is('a', true);
    for (const write of [...writesOf(2), hash(3)]) await lanes.add(5, write);
    await lanes.written([3]);
    expect(told).toEqual([]);
    await lanes.written([5]);
    const [, views, bytes] = told.find(([what]) => what === 'written')!;
    expect([views, bytes]).toEqual([5, lanes.bytesWritten]);
    expect(lanes.bytesWritten).toBeGreaterThan(0);
    expect(told).toContainEqual(['compare', 5]);
  });

  it('count the processes that have answered for some tags, each time that another one does', async () => {
    const { lanes, is } = answered();
    const seen = async () => [await lanes.processesSeen([3]), await lanes.processesSeen([4, 5])];
    expect(await seen()).toEqual([1, 1]);
    is('b');
    expect(await seen()).toEqual([2, 2]);
    is('a');
    expect(await seen()).toEqual([3, 3]);
  });

  it('doubt a process that is noticed so late that another leader may have been there, and no other', async () => {
    const { lanes, clock, told, is } = answered();
    const silent = async (ms: number, process: string) => {
      await clock.sleep(ms);
      is(process);
      await lanes.processesSeen(tags);
      return [lanes.doubts, told.filter(([what]) => what === 'doubt').length];
    };
    expect(await silent(takeOverMsMin - 1, 'a')).toEqual([0, 0]);
    expect(await silent(takeOverMsMin - 1, 'b')).toEqual([0, 0]);
    expect(await silent(takeOverMsMin, 'b')).toEqual([0, 0]);
    expect(await silent(takeOverMsMin, 'c')).toEqual([1, 1]);
    expect(await silent(1, 'd')).toEqual([1, 1]);
  });

  it('beat until they are told to stop, and have ended once nothing is in flight', async () => {
    const { lanes, clock, stop, batches } = answered();
    const sleep = clock.sleep.bind(clock);
    clock.sleep = async (ms) => {
      await sleep(ms);
      if (clock.slept.length === 3) stop.abort();
    };
    await lanes.run();
    await lanes.ended();
    expect(clock.slept).toEqual([beatMs, beatMs, beatMs]);
    expect(batches.length).toBeGreaterThanOrEqual(3 * tags.length);
    const { length } = batches;
    lanes.beat();
    await lanes.ended();
    expect(batches).toHaveLength(length);
  });

  it.each(['fenced', 'lost'] as const)('say why they are refused: %s', async (reason) => {
    const { lanes, store } = answered();
    expect(lanes.refusal).toBeNull();
    store.result = { committed: false, reason };
    await expect(lanes.run()).rejects.toThrow(reason);
    expect([lanes.refusal, lanes.signal.aborted]).toEqual([reason, true]);
    // The first reason stays.
    lanes.refused(reason === 'lost' ? 'fenced' : 'lost');
    expect(lanes.refusal).toBe(reason);
    await expect(lanes.written([3])).rejects.toMatchObject({ name: 'RefusedError', retry: false });
  });
});
