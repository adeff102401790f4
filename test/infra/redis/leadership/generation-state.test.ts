import { beforeEach, describe, expect, it } from 'vitest';
import { GenerationState } from '../../../../infra/redis/leadership/generation-state.ts';

// Two tags stand for all.

const fence = (owner: string, sequence: number, state = 'led') => `1:${sequence}:${owner}:${state}`;
const others = [3];
const none = { fence: null, led: null, others: [] };
let state: GenerationState;
beforeEach(() => {
  state = new GenerationState();
});

// docs/rules.md#ready-api
describe('the views of our format', () => {
  it('are served where they are the only ones, though nobody leads them, and stay so', () => {
    expect([state.current, state.reason]).toEqual([false, null]);
    state.look([none, none], 0);
    expect([state.current, state.reason]).toEqual([false, null]);
    state.look([{ ...none, fence: fence('a', 1, 'free') }, none], 500);
    expect(state.current).toBe(true);
    state.look([{ fence: null, led: null, others }], 1_000);
    expect([state.current, state.reason]).toEqual([true, null]);
  });

  it('are served beside others once a leader who stands at the log’s ends has moved every tag', () => {
    for (const sequence of [1, 2]) {
      const tags = ['a', 'b'].map((owner) => ({ fence: fence(owner, sequence), led: owner, others }));
      expect(state.current).toBe(false);
      state.look(tags, 500 * sequence);
    }
    expect(state.current).toBe(true);
  });

  it.each([
    ['its fences stand still', () => ({ fence: fence('a', 1), led: 'a', others })],
    ['its leader has given it up', (n: number) => ({ fence: fence('a', n, 'free'), led: 'a', others })],
    ['its leader has not come to the log’s ends', (n: number) => ({ fence: fence('a', n), led: null, others })],
    ['another one came to the ends than leads now', (n: number) => ({ fence: fence('b', n), led: 'a', others })],
    ['a tag has no fence', () => ({ fence: null, led: 'a', others })],
  ])('are not served beside others while %s', (_, tag) => {
    for (let n = 1; n < 20; n++) {
      state.look([{ fence: fence('a', n), led: 'a', others }, tag(n)], 500 * n);
      expect(state.current).toBe(false);
    }
    expect(state.reason).toMatch(/^the store also holds views of format 3, and no projector of format \d+ leads/);
  });

  it('are not served at the first look, nor where they moved more than three seconds ago', () => {
    for (const sequence of [1, 2]) {
      state.look([{ fence: fence('a', sequence), led: sequence === 1 ? 'a' : null, others }], 500 * sequence);
      expect(state.current).toBe(false);
    }
    for (const ms of [4_001, 4_000]) {
      state.look([{ fence: fence('a', 2), led: 'a', others }], ms);
      expect(state.current).toBe(ms === 4_000);
    }
  });

  it('are not served, and each other format is named once, where there are several', () => {
    const tag = { fence: fence('a', 1), led: null };
    state.look(
      [12, 3, 12].map((other) => ({ ...tag, others: [other] })),
      0,
    );
    expect([state.current, state.reason]).toEqual([false, expect.stringContaining('of formats 3, 12, and')]);
  });
});
