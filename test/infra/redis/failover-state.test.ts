import { describe, expect, it } from 'vitest';
import { FailoverState, lookedAt, type TagInQuestion, type TagLook } from '../../../infra/redis/failover-state.ts';

const look = (fence: string | null, complete: boolean, nowMs = 5_000): TagLook => ({ fence, complete, nowMs });
const still: TagInQuestion = { at: 'still', fence: '1:7', sinceMs: 0 };
const moved: TagInQuestion = { at: 'moved', fence: '1:7', sinceMs: 0 };

describe('a tag in question', () => {
  // Every state with every kind of look: what it becomes, null for no longer in question.
  const cases: [string, TagInQuestion, TagLook, TagInQuestion | null][] = [
    ['seen first', { at: 'unseen' }, look('1:7', true), { ...still, sinceMs: 5_000 }],
    ['seen first without a fence', { at: 'unseen' }, look(null, false), { at: 'still', fence: null, sinceMs: 5_000 }],
    ['still and complete', still, look('1:7', true, 10_000), still],
    ['still for more than ten seconds', still, look('1:7', false, 10_001), null],
    ['that moves while complete', still, look('1:8', true), null],
    ['that moves while incomplete', still, look('1:8', false), { at: 'moved', fence: '1:8', sinceMs: 5_000 }],
    ['whose fence is lost', still, look(null, false), { at: 'moved', fence: null, sinceMs: 5_000 }],
    ['moved, and complete at last', moved, look('1:7', true), null],
    ['moved, and moves again', moved, look('1:8', false), { at: 'moved', fence: '1:8', sinceMs: 5_000 }],
    ['moved, and moves again while complete', moved, look('1:8', true), null],
    ['moved, and stands', moved, look('1:7', false, 10_000), moved],
    ['moved, and stands for more than ten seconds', moved, look('1:7', false, 10_001), null],
  ];
  it.each(cases)('%s', (_, tag, seen, after) => {
    expect(lookedAt(tag, seen)).toEqual(after);
  });
});

describe('the state of a failover', () => {
  const identified = (...runIds: (string | null)[]): FailoverState => {
    const state = new FailoverState([0, 1]);
    state.identify(state.connection, runIds);
    return state;
  };
  const reconnected = (state: FailoverState, ...runIds: (string | null)[]): FailoverState => {
    state.connectionChanged();
    state.identify(state.connection, runIds);
    return state;
  };

  it('covers nothing before the masters are identified, then everything', () => {
    expect(new FailoverState([0, 1]).covers([0])).toBe(false);
    expect(identified('a').covers([0, 1])).toBe(true);
  });

  it('covers nothing from a lost connection until the same process is found again, then everything', () => {
    const state = identified('a');
    state.connectionChanged();
    expect([state.covers([0]), state.covers([])]).toEqual([false, false]);
    state.identify(state.connection, ['a']);
    expect([state.covers([0, 1]), state.settled]).toEqual([true, true]);
  });

  it('puts every tag in question where a process is another one, whether or not a connection was lost', () => {
    const unseen = identified('a', 'b');
    unseen.identify(unseen.connection, ['a', 'c']);
    for (const state of [reconnected(identified('a'), 'b'), unseen]) {
      expect(state.inQuestion).toEqual([0, 1]);
      expect([state.identified, state.settled, state.covers([1])]).toEqual([true, false, false]);
    }
  });

  it('takes fewer masters for the same ones', () => {
    expect(reconnected(identified('a', 'b'), 'b').settled).toBe(true);
  });

  it('ignores ids that were asked for before the connection changed', () => {
    const state = identified('a');
    const { connection } = state;
    state.connectionChanged();
    state.identify(connection, ['a']);
    expect(state.identified).toBe(false);
  });

  it('takes a process that does not tell its id for another one after each connection, and for the same one before', () => {
    const state = identified(null);
    state.identify(state.connection, [null]);
    expect(state.settled).toBe(true);
    expect(reconnected(state, null).inQuestion).toEqual([0, 1]);
  });

  it('covers each tag as soon as it is no longer in question', () => {
    const state = reconnected(identified('a'), 'b');
    for (const tag of [0, 1]) state.look(tag, look('1:7', true));
    state.look(1, look('1:8', true));
    expect([state.covers([0]), state.covers([1]), state.covers([0, 1])]).toEqual([false, true, false]);
    state.look(1, look('1:9', true));
    expect(state.inQuestion).toEqual([0]);
  });

  it('puts tags in question anew where one failover follows another', () => {
    const state = reconnected(identified('a'), 'b');
    for (const tag of [0, 1]) state.look(tag, look('1:7', true));
    reconnected(state, 'c');
    for (const tag of [0, 1]) state.look(tag, look('1:8', true));
    expect(state.inQuestion).toEqual([0, 1]);
  });
});
