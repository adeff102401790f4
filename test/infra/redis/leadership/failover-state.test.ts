import { describe, expect, it } from 'vitest';
import {
  FailoverState,
  lookedAt,
  type StampLook,
  type TagBelief,
} from '../../../../infra/redis/leadership/failover-state.ts';

const here = 'run1:repl1';
const look = (more: Partial<StampLook> = {}): StampLook => ({
  fence: '1:7',
  coming: null,
  stamp: null,
  nowMs: 5_000,
  ...more,
});
const seen = '1:7 null';
const doubted: TagBelief = { at: 'doubted', seen, sinceMs: 1_000 };
const silent: TagBelief = { at: 'silent', seen };
const stamped: TagBelief = { at: 'stamped' };

// docs/rules.md#complete
describe('a tag', () => {
  const now = (seen: string): TagBelief => ({ at: 'doubted', seen, sinceMs: 5_000 });
  // Every state with every kind of look: what it becomes.
  it.each<[string, TagBelief, Partial<StampLook>, TagBelief]>([
    ['seen first, unstamped', { at: 'unseen' }, {}, now(seen)],
    ['seen first, stamped for this process', { at: 'unseen' }, { stamp: here }, stamped],
    ['seen first, stamped for another process', { at: 'unseen' }, { stamp: 'run0:repl1' }, now(seen)],
    ['stamped for this process under another replication id', { at: 'unseen' }, { stamp: 'run1:repl0' }, now(seen)],
    ['doubted, and still', doubted, { nowMs: 61_000 }, doubted],
    ['doubted, and still for more than a minute', doubted, { nowMs: 61_001 }, silent],
    ['doubted, whose fence moves', doubted, { fence: '1:8' }, now('1:8 null')],
    ['doubted, while a projector is coming', doubted, { coming: 'a:1' }, now('1:7 a:1')],
    ['doubted, whose fence is lost', doubted, { fence: null }, now('null null')],
    ['doubted, and stamped at last', doubted, { stamp: here }, stamped],
    ['silent, and still', silent, {}, silent],
    ['silent, whose fence moves', silent, { fence: '1:8' }, now('1:8 null')],
    ['silent, while a projector is coming', silent, { coming: 'a:1' }, now('1:7 a:1')],
    ['silent, and stamped', silent, { stamp: here }, stamped],
    ['stamped, and stamped again', stamped, { stamp: here }, stamped],
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
  const reconnected = (state: FailoverState, ...processes: string[]): FailoverState => {
    state.connectionChanged();
    state.identify(state.connection, processes);
    return state;
  };

  it('covers nothing before the masters are identified, nor before a tag is stamped for one of them', () => {
    expect(new FailoverState([0, 1]).covers([0])).toBe(false);
    const state = identified('a');
    expect([state.covers([0]), state.unstamped]).toEqual([false, [0, 1]]);
    state.look(state.connection, 0, look({ stamp: 'a' }));
    expect([state.covers([0]), state.covers([1]), state.covers([0, 1])]).toEqual([true, false, false]);
    expect(state.unstamped).toEqual([1]);
    state.look(state.connection, 1, look({ stamp: 'a' }));
    expect([state.covers([0, 1]), state.settled]).toEqual([true, true]);
  });

  it('covers nothing from a lost connection until the same process is found again, then all that was stamped', () => {
    const state = stampedIn('a');
    state.connectionChanged();
    expect([state.covers([0]), state.covers([])]).toEqual([false, false]);
    state.identify(state.connection, ['a']);
    expect([state.covers([0, 1]), state.settled]).toEqual([true, true]);
  });

  it('covers nothing where a process is another one, whether or not a connection was lost, until it is stamped for that', () => {
    const unseen = stampedIn('a', 'b');
    unseen.identify(unseen.connection, ['a', 'c']);
    for (const state of [reconnected(stampedIn('a'), 'b'), unseen]) {
      expect([state.unstamped, state.identified, state.settled, state.covers([1])]).toEqual([
        [0, 1],
        true,
        false,
        false,
      ]);
      state.look(state.connection, 1, look({ stamp: 'z' }));
      expect(state.covers([1])).toBe(false);
    }
  });

  it('takes fewer masters for the same ones', () => {
    expect(reconnected(stampedIn('a', 'b'), 'a').settled).toBe(true);
  });

  it('ignores what was asked for before the connection changed', () => {
    const state = identified('a');
    const { connection } = state;
    state.connectionChanged();
    state.identify(connection, ['a']);
    expect(state.identified).toBe(false);
    state.identify(state.connection, ['a']);
    state.look(connection, 0, look({ stamp: 'a' }));
    expect(state.covers([0])).toBe(false);
  });

  it('believes an absence only beside a stamp for a process that it knows', () => {
    const state = stampedIn('a');
    expect([state.isComplete(0, 'a'), state.covers([0])]).toEqual([true, true]);
    // A promoted replica answers with what it has copied.
    expect([state.isComplete(0, 'z'), state.covers([0]), state.covers([1])]).toEqual([false, false, true]);
  });

  it('believes any stamp in a store that no projector has written to for long', () => {
    const state = identified('a');
    state.look(state.connection, 0, look({ stamp: 'z', nowMs: 0 }));
    state.look(state.connection, 0, look({ stamp: 'z', nowMs: 60_001 }));
    expect([state.covers([0]), state.isComplete(0, 'z'), state.covers([0])]).toEqual([true, true, true]);
    expect(state.unstamped).toContain(0);
  });
});
