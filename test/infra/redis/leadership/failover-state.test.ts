import { describe, expect, it } from 'vitest';
import {
  FailoverState,
  lookedAt,
  type StampLook,
  type TagBelief,
} from '../../../../infra/redis/leadership/failover-state.ts';

const here = 'run1:repl1';
const nothing: StampLook = { fence: '1:7', coming: null, stamp: null, nowMs: 5_000 };
const look = (more: Partial<StampLook> = {}): StampLook => ({ ...nothing, ...more });
const seen = '1:7 null';
const doubted: TagBelief = { at: 'doubted', seen, sinceMs: 1_000 };
const silent: TagBelief = { at: 'silent', seen };
const stamped: TagBelief = { at: 'stamped' };

// docs/rules.md#complete
describe('a tag', () => {
  const now = (seen: string): TagBelief => ({ at: 'doubted', seen, sinceMs: 5_000 });
  it.each<[string, TagBelief, Partial<StampLook>, TagBelief]>([
    ['seen first, unstamped', { at: 'unseen' }, {}, now(seen)],
    ['seen first, stamped for this process', { at: 'unseen' }, { stamp: here }, stamped],
    ['seen first, stamped for another process', { at: 'unseen' }, { stamp: 'run0:repl1' }, now(seen)],
    ['stamped for this process under another replication id', { at: 'unseen' }, { stamp: 'run1:repl0' }, now(seen)],
    ['doubted, and still', doubted, { nowMs: 61_000 }, doubted],
    ['doubted, and still for more than a minute', doubted, { nowMs: 61_001 }, silent],
    ['doubted, whose fence moves', doubted, { fence: '1:8' }, now('1:8 null')],
    ['doubted, while a projector is coming', doubted, { coming: 'a:1' }, now('1:7 a:1')],
    ['doubted, and stamped at last', doubted, { stamp: here }, stamped],
    ['silent, and still', silent, {}, silent],
    ['silent, whose fence moves', silent, { fence: '1:8' }, now('1:8 null')],
    ['silent, and stamped', silent, { stamp: here }, stamped],
    ['stamped, whose stamp is gone', stamped, {}, stamped],
  ])('%s', (_, tag, found, after) => {
    expect(lookedAt(tag, look(found), new Set([here]))).toEqual(after);
  });
});

describe('the state of a failover', () => {
  const identified = (...processes: string[]): FailoverState => {
    const state = new FailoverState([0, 1]);
    state.identify(state.connection, processes);
    return state;
  };
  const stampedIn = (process: string, ...others: string[]): FailoverState => {
    const state = identified(process, ...others);
    for (const tag of [0, 1]) state.look(state.connection, tag, look({ stamp: process }));
    return state;
  };

  it('covers nothing before the masters are identified, nor before a tag is stamped for one of them', () => {
    expect(new FailoverState([0, 1]).covers([])).toBe(false);
    const state = identified('a');
    expect([state.covers([0]), state.unstamped]).toEqual([false, [0, 1]]);
    state.look(state.connection, 0, look({ stamp: 'a' }));
    expect([state.covers([0]), state.covers([1]), state.settled, state.unstamped]).toEqual([true, false, false, [1]]);
    state.look(state.connection, 1, look({ stamp: 'a' }));
    expect([state.covers([0, 1]), state.settled]).toEqual([true, true]);
  });

  it('covers nothing from a lost connection until the same process is found again, or fewer of the same', () => {
    for (const state of [stampedIn('a'), stampedIn('a', 'b')]) {
      state.connectionChanged();
      expect(state.covers([])).toBe(false);
      state.identify(state.connection, ['a']);
      expect([state.covers([0, 1]), state.settled]).toEqual([true, true]);
    }
  });

  it('covers nothing where a process is another one, whether or not a connection was lost, until it is stamped for that', () => {
    const [unseen, seen] = [stampedIn('a', 'b'), stampedIn('a', 'b')];
    seen.connectionChanged();
    for (const state of [unseen, seen]) {
      state.identify(state.connection, ['a', 'c']);
      expect([state.unstamped, state.covers([]), state.covers([1])]).toEqual([[0, 1], true, false]);
      state.look(state.connection, 1, look({ stamp: 'z' }));
      expect(state.covers([1])).toBe(false);
    }
  });

  it('ignores what was asked for before the connection changed', () => {
    const state = identified('a');
    const { connection } = state;
    state.connectionChanged();
    state.identify(connection, ['a']);
    expect(state.covers([])).toBe(false);
    state.identify(state.connection, ['a']);
    state.look(connection, 0, look({ stamp: 'a' }));
    expect(state.covers([0])).toBe(false);
  });

  it('believes an absence beside a stamp for a process that it knows, or where no projector has written for long', () => {
    const state = stampedIn('a');
    expect([state.isComplete(0, 'a'), state.covers([0])]).toEqual([true, true]);
    // A promoted replica answers with what it has copied.
    expect([state.isComplete(0, 'z'), state.covers([0]), state.covers([1])]).toEqual([false, false, true]);
    for (const nowMs of [0, 60_001]) state.look(state.connection, 0, look({ stamp: 'z', nowMs }));
    expect([state.covers([0]), state.isComplete(0, 'z'), state.covers([0])]).toEqual([true, true, true]);
    expect(state.unstamped).toContain(0);
  });
});
