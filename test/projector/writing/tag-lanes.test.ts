import { describe, expect, it } from 'vitest';
import { beatMs, takeOverMsMin } from '../../../projector/ports/leading.ts';
import type { CommitResult, TagNotes, ViewWrite, ViewWriter } from '../../../projector/ports/view-writer.ts';
import type { SettledPosition } from '../../../projector/position/settled-position.ts';
import { TagLanes } from '../../../projector/writing/tag-lanes.ts';
import { positionAt } from '../../support/stores/placed-log.ts';
import { SteppingClock } from '../../support/stores/stepping-clock.ts';

const tags = [3, 4, 5];
const tag = 5;
const settledAt = (round: number): SettledPosition => ({
  start: { round, position: positionAt(), sum: '' },
  text: `settled in ${round}`,
});
const noteOf = (round: number) => ({ position: { text: settledAt(round).text, round } });
const turns = async (count = 20): Promise<void> => {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve));
};

/** Lanes of three tags in round 7, all that their store is asked, and what they tell. The test says what the store answers. */
function scene() {
  const clock = new SteppingClock();
  const stop = new AbortController();
  const sent: { tag: number; writes: readonly ViewWrite[]; notes: TagNotes }[] = [];
  const told: unknown[][] = [];
  const tell =
    (what: string) =>
    (...of: unknown[]) =>
      void told.push([what, ...of]);
  const store = {
    process: 'a',
    mustCompare: false,
    written: (): CommitResult => ({ committed: true, process: store.process, compare: store.mustCompare }),
    answer: async (_tag: number): Promise<CommitResult> => store.written(),
    /** Answers once otherwise. */
    once(answer: (tag: number) => Promise<CommitResult>): void {
      store.answer = (of) => {
        store.answer = async () => store.written();
        return answer(of);
      };
    },
  };
  const commit = (of: number, writes: readonly ViewWrite[], notes: TagNotes) => {
    sent.push({ tag: of, writes, notes });
    return store.answer(of);
  };
  const lanes = new TagLanes({
    ...{ writer: { commit } as unknown as ViewWriter, clock, signal: stop.signal, tags },
    ...{ onWritten: tell('written'), onCompare: tell('compare'), onDoubt: tell('doubt') },
  });
  lanes.round = 7;
  const lane = lanes.lane(tag);
  const notes = (): TagNotes[] => sent.splice(0).flatMap((batch) => (batch.tag === tag ? [batch.notes] : []));
  return {
    ...{ clock, stop, sent, told, store, lanes, lane },
    /** What the next batches of a tag say beside their views, which are none. */
    async next(): Promise<TagNotes[]> {
      lane.check();
      await lane.settled(true);
      return notes();
    },
    async beat(): Promise<TagNotes[]> {
      lanes.beat();
      await lanes.ended();
      return notes();
    },
    async settle(round: number): Promise<void> {
      await clock.sleep(250);
      lanes.settled = settledAt(round);
    },
  };
}

const ride = (id: string, value: string | null = 'x'): ViewWrite =>
  ({ kind: 'ride', id, value: value && Buffer.from(value) }) as ViewWrite;
const reader = (id: string, fields: number, value: string | null = 'x', more = {}): ViewWrite => ({
  ...{ kind: 'reader', id },
  fields: Array.from({ length: fields }, (_, i) => ({ field: `f${i}`, value })),
  ...more,
});

// docs/rules.md#batch
describe('batches', () => {
  it('are full with 200 keys, with 500 fields, or with 512 kB of names and values', () => {
    const full: [ViewWrite, number][] = [
      [ride('r'), 200],
      [reader('r', 50), 10],
      [ride('r'.repeat(4_096), null), 128],
      [reader('r'.repeat(4_094), 1, null), 128],
      [reader('r', 1, 'x'.repeat(4_093)), 128],
    ];
    for (const [write, count] of full) {
      const { lane } = scene();
      const sent = Array.from({ length: count }, () => lane.add(write));
      expect([sent.indexOf(true), lane.queued]).toEqual([count - 1, 1]);
    }
  });

  it('are written one at a time in a tag, in the order they came, and their views and bytes are counted', async () => {
    const { lanes, sent, told, store } = scene();
    let inFlight = 0;
    store.answer = async () => {
      expect(inFlight++).toBe(0);
      await turns(1);
      inFlight--;
      return store.written();
    };
    const writes = [
      ...Array.from({ length: 200 }, (_, i) => ride(`r${i}`)),
      ride('loop', null),
      reader('ada', 3, null),
    ];
    for (const write of writes) await lanes.add(tag, write);
    lanes.flush();
    expect(await lanes.drain()).toBe(true);
    expect(sent.flatMap((batch) => batch.writes)).toEqual(writes);
    expect(sent[1]).toEqual({ tag, writes: writes.slice(200), notes: { round: 7 } });
    const bytes = writes.slice(0, 200).reduce((sum, { id }) => sum + id.length + 1, 0);
    expect(told).toEqual([
      ['written', 200, bytes],
      ['written', 4, 4 + 3 + 6],
    ]);
    expect(lanes.bytesWritten).toBe(bytes + 13);
  });

  it('have at most 500 fields, but for the parts of a hash that is replaced, of which the first replaces it', async () => {
    const { lanes, sent } = scene();
    await lanes.add(3, reader('ada', 1_200, 'x', { replaces: true }));
    await lanes.add(4, reader('ada', 500, 'x', { replaces: true }));
    await lanes.add(5, reader('ada', 501));
    expect(await lanes.drain()).toBe(true);
    const shapes = sent.map(({ writes }) =>
      writes.map((write) => 'fields' in write && [write.fields.length, write.replaces ?? false]),
    );
    const parts = [500, 500, 200].map((fields, i) => [fields, i === 0]);
    expect(shapes).toEqual([parts, [[500, true]], [[500, false]], [[1, false]]]);
    const names = sent[0]!.writes.flatMap((write) => ('fields' in write ? write.fields.map(({ field }) => field) : []));
    expect(names).toEqual(Array.from({ length: 1_200 }, (_, i) => `f${i}`));
  });

  it('that are under way hold back whoever adds from the 32nd on, even of one tag', async () => {
    const { lanes, store } = scene();
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    store.answer = async () => {
      await held;
      return store.written();
    };
    let added = 0;
    const adding = (async () => {
      // A batch is full with the second of these.
      for (; added < 100; added++) await lanes.add(tag, ride('loop', 'y'.repeat(300_000)));
    })();
    await turns();
    expect(added).toBe(2 * 32 - 1);
    release();
    await adding;
    expect(await lanes.drain()).toBe(true);
  });
});

describe('beside its views, a batch', () => {
  it('names its round, and carries a position once, each at most every 250 ms but for the last', async () => {
    const { lanes, clock, next } = scene();
    expect(await next()).toEqual([{ round: 7 }]);
    lanes.settled = settledAt(3);
    expect(await next()).toEqual([{ round: 7, ...noteOf(3) }]);
    await clock.sleep(250);
    expect(await next()).toEqual([{ round: 7 }]);
    lanes.settled = settledAt(4);
    expect(await next()).toEqual([{ round: 7, ...noteOf(4) }]);
    lanes.settled = settledAt(5);
    await clock.sleep(249);
    expect(await next()).toEqual([{ round: 7 }]);
    await clock.sleep(1);
    expect(await next()).toEqual([{ round: 7, ...noteOf(5) }]);
    lanes.settled = settledAt(6);
    lanes.leaving = true;
    expect(await next()).toEqual([{ round: 7, ...noteOf(6) }]);
  });

  it('carries the position again that was not written', async () => {
    const { lanes, clock, store, next } = scene();
    lanes.settled = settledAt(3);
    store.once(() => Promise.reject(new Error('no connection')));
    expect(await next()).toEqual([1, 2].map(() => ({ round: 7, ...noteOf(3) })));
    expect(clock.slept).toEqual([50]);
  });

  // docs/rules.md#complete
  it('says that the tag is in doubt, has no round and no stamp till all is compared, and that it is over with a later position', async () => {
    const { lanes, lane, told, store, next, beat, settle } = scene();
    const isNews = () => told.filter(([what, of]) => what === 'compare' && of === tag);
    lanes.beginStamping(0);
    await beat();
    lane.beginCompare(false);
    // The store says it too: that is no news.
    store.mustCompare = true;
    expect(await next()).toEqual([{ compare: 'begin' }]);
    expect([await next(), lane.comparing]).toEqual([[{}], true]);
    expect(await beat()).toEqual([{ stamp: '' }]);
    await settle(6);
    expect(await next()).toEqual([noteOf(6)]);
    lane.endCompare();
    expect(lane.comparing).toBe(false);
    expect(await beat()).toEqual([{ round: 7, stamp: 'a' }]);
    await settle(7);
    expect(await next()).toEqual([{ round: 7, ...noteOf(7) }]);
    await settle(8);
    expect(await next()).toEqual([{ round: 7, ...noteOf(8), compare: 'end' }]);
    expect(isNews()).toEqual([]);
    // From now on it is.
    await settle(9);
    expect(await next()).toEqual([{ round: 7, ...noteOf(9) }]);
    expect(isNews()).toEqual([['compare', tag]]);
  });

  it('does not say again that the tag is in doubt where its open list does, and says it where it came to be so meanwhile', async () => {
    const { lanes, lane, told, store, next } = scene();
    lane.beginCompare(true);
    expect([lane.comparing, await next()]).toEqual([true, [{}]]);
    lane.endCompare();
    lanes.settled = settledAt(8);
    store.once(async () => {
      lane.beginCompare(false);
      return { ...store.written(), compare: true } as CommitResult;
    });
    expect(await next()).toEqual([{ round: 7, ...noteOf(8), compare: 'end' }]);
    expect(await next()).toEqual([{ compare: 'begin' }]);
    expect(told.filter(([what]) => what === 'compare')).toEqual([]);
  });
});

describe('lanes', () => {
  // P17, P44
  it('wait for a tag that is away, longer each time up to a second, while the others and their beats flow on', async () => {
    const { lanes, lane, clock, sent, store } = scene();
    let failures = 9;
    store.answer = async (of) => {
      if (of === tag && failures-- > 0) throw new Error('this master is away');
      return store.written();
    };
    for (const of of tags) await lanes.add(of, ride('loop'));
    expect([await lanes.drain(), lanes.isAway(tag), lane.queued]).toEqual([false, true, 1]);
    await lanes.written([3, 4]);
    lanes.beat();
    await turns(2);
    expect(sent.filter((batch) => batch.tag === 3).length).toBeGreaterThan(1);
    await lanes.written([tag]);
    expect([lanes.isAway(tag), lane.queued, await lanes.drain()]).toEqual([false, 0, true]);
    expect(clock.slept).toEqual([50, 100, 200, 400, 800, 1_000, 1_000, 1_000, 1_000]);
  });

  it('wait for no beat: a store whose answers take longer than a beat is due only delays', async () => {
    const { lanes, sent, store } = scene();
    let beats = 0;
    // The next beat is due before each answer.
    store.answer = async (of) => {
      await turns(1);
      if (of === tag && ++beats < 200) lanes.beat();
      return store.written();
    };
    for (let i = 0; i < 2; i++) await lanes.add(tag, ride(`r${i}`));
    expect(await lanes.drain()).toBe(true);
    expect(beats).toBeLessThan(10);
    expect(await lanes.leave()).toBe(true);
    expect(beats).toBeLessThan(20);
    // No fence moves any more.
    await lanes.ended();
    const { length } = sent;
    lanes.beat();
    await turns();
    expect(sent).toHaveLength(length);
  });

  it('count the processes of the store that have answered for some tags, each time that another one does', async () => {
    const { lanes, store } = scene();
    for (const [i, process] of ['a', 'b', 'a'].entries()) {
      store.process = process;
      expect([await lanes.processesSeen([3]), await lanes.processesSeen([4, 5])]).toEqual([i + 1, i + 1]);
    }
  });

  it('doubt a process that is noticed so late that another leader may have been there, and no other', async () => {
    const { lanes, clock, told, store } = scene();
    const silent = async (ms: number, process: string) => {
      await clock.sleep(ms);
      store.process = process;
      await lanes.processesSeen(tags);
      return [lanes.doubts, told.filter(([what]) => what === 'doubt').length];
    };
    expect(await silent(takeOverMsMin - 1, 'a')).toEqual([0, 0]);
    expect(await silent(takeOverMsMin - 1, 'b')).toEqual([0, 0]);
    expect(await silent(takeOverMsMin, 'b')).toEqual([0, 0]);
    expect(await silent(takeOverMsMin, 'c')).toEqual([1, 1]);
    expect(await silent(1, 'd')).toEqual([1, 1]);
    // A tag was this leader's when it was asked, not when it answered.
    let isSlow = true;
    store.answer = async (of) => {
      if (isSlow && of === tag) await clock.sleep(600);
      return store.written();
    };
    await silent(0, 'd');
    isSlow = false;
    expect(await silent(takeOverMsMin - 600, 'e')).toEqual([2, 2]);
  });

  // P42
  it('stamp a process of the store only once every tag, asked since it was noticed, is as it was left', async () => {
    const { lanes, clock, sent, store } = scene();
    let isSilent = false;
    const { promise: answers, resolve: answer } = Promise.withResolvers<void>();
    store.answer = async (of) => {
      const { process } = store;
      if (isSilent && of === tag) await answers;
      return { ...store.written(), process } as CommitResult;
    };
    const stampsAfter = async (doubts?: number) => {
      if (doubts !== undefined) lanes.beginStamping(doubts);
      for (let i = 0; i < 3; i++) {
        lanes.beat();
        await turns();
      }
      return new Set(sent.splice(0).flatMap(({ notes }) => notes.stamp || []));
    };
    // The views do not stand at the ends yet.
    expect(await stampsAfter()).toEqual(new Set());
    expect(await stampsAfter(lanes.doubts)).toEqual(new Set(['a']));
    [isSilent, store.process] = [true, 'b'];
    expect(await stampsAfter()).toEqual(new Set(['a']));
    expect(await stampsAfter()).toEqual(new Set());
    isSilent = false;
    answer();
    expect(await stampsAfter()).toEqual(new Set(['b']));
    // Another may have led meanwhile, and the store be a copy from before that.
    await clock.sleep(takeOverMsMin);
    store.process = 'c';
    expect(await stampsAfter()).toEqual(new Set(['b']));
    expect(await stampsAfter(lanes.doubts - 1)).toEqual(new Set());
    expect(await stampsAfter(lanes.doubts)).toEqual(new Set(['c']));
  });

  it('beat until they are told to stop, and have ended once nothing is in flight', async () => {
    const { lanes, clock, stop, sent } = scene();
    const sleep = clock.sleep.bind(clock);
    clock.sleep = async (ms) => {
      await sleep(ms);
      if (clock.slept.length === 3) stop.abort();
    };
    await lanes.run();
    await lanes.ended();
    expect(clock.slept).toEqual([beatMs, beatMs, beatMs]);
    expect(sent.length).toBeGreaterThanOrEqual(3 * tags.length);
    const { length } = sent;
    lanes.beat();
    await lanes.ended();
    expect(sent).toHaveLength(length);
  });

  it.each(['fenced', 'lost'] as const)('say why they are refused, and write nothing more: %s', async (reason) => {
    const { lanes, sent, store } = scene();
    expect(lanes.refusal).toBeNull();
    store.answer = async () => ({ committed: false, reason });
    await expect(lanes.run()).rejects.toThrow(reason);
    expect([lanes.refusal, lanes.signal.aborted]).toEqual([reason, true]);
    // The first reason stays.
    lanes.refused(reason === 'lost' ? 'fenced' : 'lost');
    expect(lanes.refusal).toBe(reason);
    const { length } = sent;
    await expect(lanes.written([3])).rejects.toMatchObject({ name: 'RefusedError', retry: false });
    await expect(lanes.add(tag, ride('loop'))).rejects.toThrow('Cannot write views');
    await expect(lanes.drain()).rejects.toThrow('Cannot write views');
    expect(sent).toHaveLength(length);
  });
});
