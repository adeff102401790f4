import { describe, expect, it } from 'vitest';
import type { Position } from '../../../projector/ports/event-log.ts';
import type { CommitResult, TagNotes, ViewWrite, ViewWriter } from '../../../projector/ports/view-writer.ts';
import type { SettledPosition } from '../../../projector/position/settled-position.ts';
import { type LaneOwner, TagLane } from '../../../projector/writing/tag-lane.ts';
import { SteppingClock } from '../../support/stores/stepping-clock.ts';

const tag = 5;
const written = (compare = false): CommitResult => ({ committed: true, process: 'p1', compare });
const settledAt = (round: number): SettledPosition => ({
  start: { round, position: {} as Position, sum: '' },
  text: `settled in ${round}`,
});
const noteOf = (round: number) => ({ position: { text: settledAt(round).text, round } });

/** A lane, all that its store is asked, and what it tells of the answers. The test says what the store answers. */
class Scene implements LaneOwner {
  readonly clock = new SteppingClock();
  readonly #stop = new AbortController();
  readonly signal = this.#stop.signal;
  round = 7;
  settled: SettledPosition | null = null;
  leaving = false;
  readonly sent: { tag: number; writes: readonly ViewWrite[]; notes: TagNotes }[] = [];
  readonly said: unknown[][] = [];
  answer = async (): Promise<CommitResult> => written();
  readonly lane = new TagLane(tag, this);
  readonly writer = {
    commit: (of: number, writes: readonly ViewWrite[], notes: TagNotes) => {
      this.sent.push({ tag: of, writes, notes });
      return this.answer();
    },
  } as unknown as ViewWriter;

  stampOf = (of: number): string => `stamp of ${of}`;
  answered = (...of: unknown[]): void => void this.said.push(['answered', ...of]);
  wrote = (...of: unknown[]): void => void this.said.push(['wrote', ...of]);
  mustCompare = (...of: unknown[]): void => void this.said.push(['must compare', ...of]);
  refused(...of: unknown[]): void {
    this.said.push(['refused', ...of]);
    this.#stop.abort();
  }

  /** What the next batch says beside its views, which are none. */
  async next(): Promise<TagNotes[]> {
    this.lane.check();
    await this.lane.settled(true);
    return this.notes();
  }

  async beat(turn: number): Promise<TagNotes[]> {
    this.lane.beat(turn);
    await this.lane.ended();
    return this.notes();
  }

  notes(): TagNotes[] {
    return this.sent.splice(0).map(({ notes }) => notes);
  }
}

const ride = (id: string, value: string | null): ViewWrite =>
  ({ kind: 'ride', id, value: value && Buffer.from(value) }) as ViewWrite;
const reader = (id: string, ...values: (string | null)[]): ViewWrite => ({
  kind: 'reader',
  id,
  fields: values.map((value, i) => ({ field: `f${i}`, value })),
});

describe('a batch', () => {
  it('is full with 200 keys, with 500 fields, or with 512 kB of names and values', () => {
    const full: [ViewWrite, number][] = [
      [ride('r', 'x'), 200],
      [reader('r', ...Array<string>(50).fill('x')), 10],
      [ride('r'.repeat(4_096), null), 128],
      [reader('r'.repeat(4_094), null), 128],
      [reader('r', 'x'.repeat(4_093)), 128],
    ];
    for (const [write, count] of full) {
      const { lane } = new Scene();
      const sent = Array.from({ length: count }, () => lane.add(write));
      expect([sent.indexOf(true), lane.queued]).toEqual([count - 1, 1]);
    }
  });

  it('counts its views and bytes: keys, and fields of riders', async () => {
    const scene = new Scene();
    const writes = [ride('loop', 'value'), ride('gone', null), reader('ada', 'xy', null)];
    scene.lane.add(...writes);
    scene.lane.flush();
    scene.lane.flush();
    await scene.lane.settled(true);
    expect(scene.sent).toEqual([{ tag, writes, notes: { round: 7 } }]);
    expect(scene.said).toEqual([['wrote', 4, 9 + 4 + 3 + 4 + 2]]);
  });
});

describe('beside its views, a batch', () => {
  it('names its round, and carries a position once, each at most every 250 ms but for the last', async () => {
    const scene = new Scene();
    expect(await scene.next()).toEqual([{ round: 7 }]);
    scene.settled = settledAt(3);
    expect(await scene.next()).toEqual([{ round: 7, ...noteOf(3) }]);
    await scene.clock.sleep(250);
    expect(await scene.next()).toEqual([{ round: 7 }]);
    scene.settled = settledAt(4);
    expect(await scene.next()).toEqual([{ round: 7, ...noteOf(4) }]);
    scene.settled = settledAt(5);
    await scene.clock.sleep(249);
    expect(await scene.next()).toEqual([{ round: 7 }]);
    await scene.clock.sleep(1);
    expect(await scene.next()).toEqual([{ round: 7, ...noteOf(5) }]);
    scene.settled = settledAt(6);
    scene.leaving = true;
    expect(await scene.next()).toEqual([{ round: 7, ...noteOf(6) }]);
  });

  it('carries the position again that was not written', async () => {
    const scene = new Scene();
    scene.settled = settledAt(3);
    scene.answer = async () => {
      scene.answer = async () => written();
      throw new Error('no connection');
    };
    expect(await scene.next()).toEqual([1, 2].map(() => ({ round: 7, ...noteOf(3) })));
    expect(scene.clock.slept).toEqual([50]);
  });

  it('of a beat has the stamp, and who answered is told with when the tag was asked', async () => {
    const scene = new Scene();
    const askedMs = scene.clock.nowMs();
    scene.answer = async () => {
      await scene.clock.sleep(30);
      return written();
    };
    expect(await scene.beat(4)).toEqual([{ round: 7, stamp: 'stamp of 5' }]);
    expect(scene.said).toEqual([
      ['answered', tag, 'p1', 4, askedMs],
      ['wrote', 0, 0],
    ]);
    // The next beat is due before this one is answered.
    scene.answer = async () => {
      scene.answer = async () => written();
      await null;
      scene.lane.beat(6);
      return written();
    };
    expect(await scene.beat(5)).toHaveLength(2);
    expect(scene.said.flatMap(([what, , , turn]) => (what === 'answered' ? [turn] : []))).toEqual([4, 5, 6]);
    expect(await scene.next()).toEqual([{ round: 7 }]);
  });

  // docs/rules.md#complete
  it('says that the tag is in doubt, has no round and no stamp till all is compared, and that it is over with a later position', async () => {
    const scene = new Scene();
    const { lane } = scene;
    const settle = async (round: number): Promise<TagNotes[]> => {
      await scene.clock.sleep(250);
      scene.settled = settledAt(round);
      return scene.next();
    };
    lane.beginCompare(false);
    expect(lane.comparing).toBe(true);
    // The store says it too: that is no news.
    scene.answer = async () => written(true);
    expect(await scene.next()).toEqual([{ compare: 'begin' }]);
    expect(lane.comparing).toBe(true);
    expect(await scene.next()).toEqual([{}]);
    expect(await scene.beat(1)).toEqual([{ stamp: '' }]);
    expect(await settle(6)).toEqual([noteOf(6)]);
    lane.endCompare();
    expect(lane.comparing).toBe(false);
    expect(await scene.beat(2)).toEqual([{ round: 7, stamp: 'stamp of 5' }]);
    expect(await settle(7)).toEqual([{ round: 7, ...noteOf(7) }]);
    expect(await settle(8)).toEqual([{ round: 7, ...noteOf(8), compare: 'end' }]);
    expect(scene.said.filter(([what]) => what === 'must compare')).toEqual([]);
    // From now on it is.
    expect(await settle(9)).toEqual([{ round: 7, ...noteOf(9) }]);
    expect(scene.said.filter(([what]) => what === 'must compare')).toEqual([['must compare', tag]]);
  });

  it('does not say again that the tag is in doubt where its open list does, and says it where it came to be so meanwhile', async () => {
    const scene = new Scene();
    scene.lane.beginCompare(true);
    expect(scene.lane.comparing).toBe(true);
    expect(await scene.next()).toEqual([{}]);
    scene.lane.endCompare();
    scene.settled = settledAt(8);
    scene.answer = async () => {
      scene.answer = async () => written();
      scene.lane.beginCompare(false);
      return written(true);
    };
    expect(await scene.next()).toEqual([{ round: 7, ...noteOf(8), compare: 'end' }]);
    expect(await scene.next()).toEqual([{ compare: 'begin' }]);
    expect(scene.said.filter(([what]) => what === 'must compare')).toEqual([]);
  });
});

describe('a lane', () => {
  it('is away from the first failure to the next answer: who has no patience waits no longer', async () => {
    const scene = new Scene();
    const { promise: back, resolve: comeBack } = Promise.withResolvers<void>();
    let failures = 0;
    scene.answer = async () => {
      if (failures++ === 0) throw new Error('no connection');
      await back;
      return written();
    };
    let patient = false;
    scene.lane.check();
    const waiting = scene.lane.settled(true).then(() => {
      patient = true;
    });
    await scene.lane.settled(false);
    expect([scene.lane.away, scene.lane.queued, patient]).toEqual([true, 1, false]);
    comeBack();
    await waiting;
    expect([scene.lane.away, scene.lane.queued]).toEqual([false, 0]);
  });

  it.each(['fenced', 'lost'] as const)('tells that it was refused as %s, and sends nothing more', async (reason) => {
    const scene = new Scene();
    scene.answer = async () => ({ committed: false, reason });
    scene.lane.add(ride('loop', 'x'));
    scene.lane.flush();
    expect(await scene.next()).toEqual([{ round: 7 }]);
    expect(scene.said).toEqual([['refused', reason]]);
    expect(scene.lane.queued).toBe(2);
    expect([await scene.next(), await scene.beat(1)]).toEqual([[], []]);
  });

  it('has one batch in flight, and has ended once that one is answered', async () => {
    const scene = new Scene();
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
    scene.answer = async () => {
      await answered;
      return written();
    };
    for (const id of ['a', 'b']) {
      scene.lane.add(ride(id, 'x'));
      scene.lane.flush();
    }
    let hasEnded = false;
    const ended = scene.lane.ended().then(() => {
      hasEnded = true;
    });
    await scene.clock.sleep(1);
    expect([scene.sent.length, scene.lane.queued, hasEnded]).toEqual([1, 2, false]);
    answer();
    await ended;
    expect([scene.sent.length, scene.lane.queued]).toEqual([2, 0]);
  });
});
