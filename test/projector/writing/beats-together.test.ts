import { expect, it } from 'vitest';
import type { BeatNotes, BeatResult, CommitResult, TagNotes, ViewWrite } from '../../../projector/ports/view-writer.ts';
import { TagLanes } from '../../../projector/writing/tag-lanes.ts';
import { turns } from '../../support/stores/event-loop-turns.ts';
import { positionAt } from '../../support/stores/placed-log.ts';
import { sharedDeps } from '../../support/stores/shared-deps.ts';

// docs/rules.md#fence: where the store can, one beat does for all tags with nothing in flight.

const tags = [3, 4, 5];
const ride = { kind: 'ride', id: 'loop', value: Buffer.from('x') } as const;

type Call =
  | { beat: readonly number[]; notes: BeatNotes }
  | { commit: number; writes: readonly ViewWrite[]; notes: TagNotes };

/** Lanes in round 7, and all that their store is asked. The test says what the store answers, and may hold its answers back. */
function scene() {
  const { stop, clock, signal } = sharedDeps();
  const calls: Call[] = [];
  const store = {
    process: 'a',
    asked: '',
    refusal: null as 'fenced' | 'lost' | null,
    failures: 0,
    held: null as Promise<void> | null,
  };
  const answer = async () => {
    const { process, asked } = store;
    await store.held;
    if (store.failures-- > 0) throw new Error('no connection');
    if (store.refusal) return { committed: false, reason: store.refusal } as const;
    return { committed: true, process, asked, compare: false } as const;
  };
  const writer = {
    commit(commit: number, writes: readonly ViewWrite[], notes: TagNotes = {}): Promise<CommitResult> {
      calls.push({ commit, writes, notes });
      return answer();
    },
    beat(beat: readonly number[], notes: BeatNotes): Promise<BeatResult> {
      calls.push({ beat, notes });
      return answer();
    },
  };
  const lanes = new TagLanes({ writer, clock, signal, tags, onWritten() {}, onCompare() {} });
  lanes.round = 7;
  const next = async (): Promise<Call[]> => {
    await turns(20);
    return calls.splice(0);
  };
  return {
    clock,
    stop,
    store,
    lanes,
    next,
    beat: () => {
      lanes.beat();
      return next();
    },
    /** A lane has this to write. */
    async write(tag: number): Promise<void> {
      await lanes.add(tag, ride);
      lanes.flush();
    },
    /** What is sent from now on waits for its answer until it is let go. */
    holds(): () => void {
      const { promise, resolve } = Promise.withResolvers<void>();
      store.held = promise;
      return () => {
        store.held = null;
        resolve();
      };
    },
    async settle(round: number, text = `settled in ${round}`): Promise<void> {
      await clock.sleep(250);
      lanes.settled = { start: { round, position: positionAt(), sum: '' }, text };
    },
  };
}

const asks = { stamp: '' };
const together = (of = tags, notes: BeatNotes = asks): Call => ({ beat: of, notes });

it('a lane with a batch in flight carries the beat in its next one, and is left out of that of the others', async () => {
  const { holds, next, beat, write } = scene();
  expect((await beat())[0]).toEqual(together());
  const letGo = holds();
  await write(4);
  await next();
  expect(await beat()).toEqual([together([3, 5])]);
  letGo();
  expect(await next()).toEqual([{ commit: 4, writes: [], notes: { round: 7, ...asks } }]);
});

it('nothing of a tag is sent before a beat is answered that does for it, and a beat that is due meanwhile follows', async () => {
  const { lanes, holds, next, beat, write } = scene();
  await beat();
  const letGo = holds();
  expect(await beat()).toEqual([together()]);
  await write(4);
  expect([await beat(), await beat(), lanes.lane(4).queued]).toEqual([[], [], 1]);
  letGo();
  const [batch, ...beats] = await next();
  expect(batch).toMatchObject({ commit: 4, writes: [ride] });
  expect(beats).toEqual([together([3, 5]), { commit: 4, writes: [], notes: { round: 7, ...asks } }]);
});

it('a beat that is not answered is sent again as it was, and its tags count as away; none is sent once all is told to stop', async () => {
  const { lanes, store, clock, stop, beat } = scene();
  await beat();
  store.failures = 3;
  const isAway = Promise.withResolvers<boolean>();
  const sleep = clock.sleep.bind(clock);
  clock.sleep = async (ms) => {
    isAway.resolve(lanes.lane(5).away);
    await sleep(ms);
  };
  expect(await beat()).toEqual(Array.from({ length: 4 }, () => together()));
  expect([await isAway.promise, lanes.lane(5).away, clock.slept]).toEqual([true, false, [50, 100, 200]]);
  store.failures = 1;
  lanes.beat();
  const ended = lanes.ended();
  stop.abort();
  expect(await beat()).toEqual([together()]);
  await ended;
});

it('each tag is asked for its open list once somebody has asked for a compare', async () => {
  const { store, beat } = scene();
  await beat();
  store.asked = 'once';
  expect(await beat()).toEqual([together(), ...tags.map((commit) => ({ commit, writes: [], notes: { round: 7 } }))]);
  expect(await beat()).toEqual([together()]);
});

it('it stores a position that is news in all of them, cuts lists that may have names, and stores it again after a minute', async () => {
  const { clock, settle, beat, next, write } = scene();
  const stored = async () => (await beat()).map((call) => 'beat' in call && call.notes.position);
  await beat();
  expect(await stored()).toEqual([undefined]);
  await settle(1);
  expect(await stored()).toEqual([{ text: 'settled in 1', round: 1, cut: tags }]);
  await settle(2, 'settled in 1');
  expect(await stored()).toEqual([undefined]);
  await write(4);
  await next();
  // It has not moved, but the names of the round before it need not stay.
  await settle(7, 'settled in 1');
  expect(await stored()).toEqual([undefined]);
  await settle(8, 'settled in 1');
  expect(await stored()).toEqual([{ text: 'settled in 1', round: 8, cut: [4] }]);
  await settle(9);
  expect(await stored()).toEqual([{ text: 'settled in 9', round: 9, cut: [] }]);
  await settle(10, 'settled in 9');
  await clock.sleep(59_750);
  expect(await stored()).toEqual([{ text: 'settled in 9', round: 10, cut: [] }]);
});

it('a tag in doubt beats alone, is not stamped, and says when its compare is over', async () => {
  const { lanes, settle, beat } = scene();
  lanes.beginStamping(0);
  await settle(7);
  await beat();
  lanes.lane(4).beginCompare(false);
  expect(await beat()).toEqual([
    { commit: 4, writes: [], notes: { compare: 'begin', ...asks } },
    together([3, 5], { stamp: 'a' }),
  ]);
  expect(lanes.isComplete).toBe(false);
  lanes.lane(4).endCompare();
  await settle(8, 'settled in 7');
  expect((await beat())[0]).toMatchObject({ commit: 4, notes: { compare: 'end', stamp: 'a' } });
  expect(await beat()).toEqual([together(tags, { stamp: 'a' })]);
  expect(lanes.isComplete).toBe(true);
});

// P42
it('a process is stamped once all tags have answered since it was noticed: those that beat together, and those that beat alone', async () => {
  const { lanes, store, holds, next, beat, write } = scene();
  const stamps = (calls: readonly Call[]) => new Set(calls.map(({ notes }) => notes.stamp));
  lanes.beginStamping(0);
  expect(lanes.isComplete).toBe(false);
  expect(stamps(await next())).toEqual(new Set(['', 'a']));
  const letGo = holds();
  await write(4);
  await next();
  store.held = null;
  store.process = 'b';
  // Of the two that answer by now it is known that they are as they were left, not of the third.
  expect(stamps(await beat())).toEqual(new Set(['a', '']));
  expect(stamps(await beat())).toEqual(new Set(['']));
  expect(lanes.isComplete).toBe(false);
  letGo();
  await next();
  expect(stamps(await beat())).toEqual(new Set(['b']));
  store.process = 'c';
  expect((await beat()).map(({ notes }) => notes.stamp)).toEqual(['b', '', 'c']);
});

// P59
it('who asks which process there is waits for an answer to that, not for a beat that was sent before', async () => {
  const { lanes, store, holds, beat, next } = scene();
  await beat();
  const seen = await lanes.processesSeen([4]);
  await next();
  const letGo = holds();
  await beat();
  const later = lanes.processesSeen([4]);
  store.process = 'b';
  letGo();
  expect(await later).toBe(seen + 1);
  const asked = (await next()).find((call) => 'commit' in call && call.commit === 4);
  expect(asked?.notes.stamp).toBe('');
});

it.each(['fenced', 'lost'] as const)('a beat that is refused ends all lanes: %s', async (reason) => {
  const { lanes, store, beat } = scene();
  store.refusal = reason;
  expect(await beat()).toEqual([together()]);
  expect([lanes.refusal, lanes.signal.aborted, await beat()]).toEqual([reason, true, []]);
  await expect(lanes.add(4, ride)).rejects.toThrow('Cannot write views');
});

it('no fence moves once the lanes leave, but for the last batch of each', async () => {
  const { lanes, holds, beat, next } = scene();
  await beat();
  const letGo = holds();
  await beat();
  await beat();
  const left = lanes.leave();
  letGo();
  expect(await left).toBe(true);
  expect(await next()).toEqual(tags.map((commit) => ({ commit, writes: [], notes: { round: 7 } })));
});
