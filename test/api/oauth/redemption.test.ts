import { describe, expect, test } from 'vitest';
import {
  Redemption,
  type RedemptionEvent,
  type RedemptionOutcome,
  type RedemptionState,
  redemptionOutcome,
} from '../../../api/oauth/redemption.ts';
import { memoryAuthState } from '../../../infra/memory/auth-state-memory.ts';

const graceMs = 10_000;
const start = 1_000_000;
const redeemed = { by: 'one', firstMs: start, successor: 'next' };
const at = (nowMs: number, grace: number | null = graceMs): RedemptionEvent => ({
  is: 'redeem',
  by: 'two',
  nowMs,
  graceMs: grace,
});
const answering = (nowMs: number, firstMs: number): RedemptionState => ({
  at: 'answering',
  by: 'two',
  sinceMs: nowMs,
  firstMs,
  successor: null,
});

const states: { [S in RedemptionState['at']]: Extract<RedemptionState, { at: S }> } = {
  unused: { at: 'unused' },
  answering: { at: 'answering', sinceMs: start, ...redeemed },
  answered: { at: 'answered', ...redeemed },
  replaced: { at: 'replaced' },
};
const events: { [E in RedemptionEvent['is']]: Extract<RedemptionEvent, { is: E }> } = {
  redeem: { is: 'redeem', by: 'two', nowMs: start + 500, graceMs },
  issue: { is: 'issue', successor: 'newest' },
  answer: { is: 'answer' },
  replace: { is: 'replace' },
  guess: { is: 'guess' },
};

const [nothing, spent, refused] = [{ is: 'nothing' }, { is: 'spent' }, { is: 'refused' }] as const;
const next = (state: RedemptionState, replaces?: string): RedemptionOutcome => ({
  is: 'next',
  state,
  ...(replaces !== undefined && { replaces }),
});

// A state or event without its line here does not compile.
const expected: { [S in RedemptionState['at']]: { [E in RedemptionEvent['is']]: RedemptionOutcome } } = {
  unused: {
    redeem: next(answering(start + 500, start + 500)),
    issue: nothing,
    answer: nothing,
    replace: next({ at: 'replaced' }),
    guess: { is: 'removed' },
  },
  answering: {
    redeem: refused,
    issue: next({ ...states.answering, successor: 'newest' }),
    answer: next(states.answered),
    replace: spent,
    guess: nothing,
  },
  answered: {
    redeem: next(answering(start + 500, start), 'next'),
    issue: nothing,
    answer: nothing,
    replace: spent,
    guess: nothing,
  },
  replaced: { redeem: spent, issue: nothing, answer: nothing, replace: spent, guess: nothing },
};

describe('a code or refresh token', () => {
  for (const [state, row] of Object.entries(expected))
    for (const [event, outcome] of Object.entries(row))
      test(`that is ${state}, at ${event}: ${outcome.is}`, () => {
        const found = redemptionOutcome(states[state as keyof typeof states], events[event as keyof typeof events]);
        expect(found).toEqual(outcome);
      });

  test('that was answered may come again within the grace, a code never', () => {
    expect(redemptionOutcome(states.answered, at(start + graceMs)).is).toBe('next');
    expect(redemptionOutcome(states.answered, at(start + graceMs + 1))).toEqual(spent);
    expect(redemptionOutcome(states.answered, at(start, null))).toEqual(spent);
  });

  test('whose request never got to its answer is redeemed again after two seconds, by the same rule', () => {
    expect(redemptionOutcome(states.answering, at(start + 2000))).toEqual(refused);
    expect(redemptionOutcome(states.answering, at(start + 2001))).toEqual(next(answering(start + 2001, start), 'next'));
    expect(redemptionOutcome(states.answering, at(start + 2000, null))).toEqual(refused);
    expect(redemptionOutcome(states.answering, at(start + 2001, null))).toEqual(spent);
  });

  test('keeps the time of its first redemption, so that retries don’t lengthen the grace', () => {
    const retried = redemptionOutcome(states.answered, at(start + 9000)) as { state: RedemptionState };
    const again = redemptionOutcome(retried.state, { is: 'answer' }) as { state: RedemptionState };
    expect(redemptionOutcome(again.state, at(start + graceMs + 1))).toEqual(spent);
  });
});

describe('a request’s redemption', () => {
  const setUp = async () => {
    let nowMs = start;
    const store = memoryAuthState();
    const put = (id: string) => store.put('RefreshToken', id, { clientId: 'app' }, { lifeSeconds: 60 });
    await put('first');
    const look = async (id: string) => {
      const redemption = new Redemption(store, graceMs, () => nowMs);
      return { redemption, spent: await redemption.look('RefreshToken', id, (await store.find('RefreshToken', id))!) };
    };
    const finish = async (redemption: Redemption, successor: string) => {
      expect(await redemption.redeem()).toBe(true);
      await put(successor);
      expect(await redemption.issue('RefreshToken', successor)).toBe(true);
      await redemption.answer();
    };
    const pass = (ms: number) => {
      nowMs += ms;
    };
    return { store, put, look, finish, pass };
  };

  test('that saw what another one saw fails, however late it comes', async () => {
    const { look, finish } = await setUp();
    const [one, two] = [await look('first'), await look('first')];
    await finish(one.redemption, 'second');
    expect([two.spent, await two.redemption.redeem()]).toEqual([false, false]);
  });

  test('after a lost reply fails as a whole where the successor is used meanwhile', async () => {
    const { store, look, finish } = await setUp();
    await finish((await look('first')).redemption, 'second');
    const retry = await look('first');
    await finish((await look('second')).redemption, 'third');
    const before = await store.find('RefreshToken', 'first');
    expect([retry.spent, await retry.redemption.redeem()]).toEqual([false, false]);
    expect(await store.find('RefreshToken', 'first')).toEqual(before);
    expect((await look('first')).spent).toBe(true);
  });

  test('that took so long that another one has begun gives out no second line', async () => {
    const { put, look, finish, pass } = await setUp();
    const stalled = await look('first');
    expect(await stalled.redemption.redeem()).toBe(true);
    pass(2001);
    await finish((await look('first')).redemption, 'second');
    await put('late');
    expect(await stalled.redemption.issue('RefreshToken', 'late')).toBe(false);
    await stalled.redemption.answer();
    expect((await look('second')).spent).toBe(false);
  });

  test('of a guessed code burns it for its own client, once, and never one that is redeemed', async () => {
    const { store } = await setUp();
    const life = { lifeSeconds: 60 };
    const fail = async (clientId: string, id: string) => {
      const redemption = new Redemption(store, graceMs, () => start);
      await redemption.look('AuthorizationCode', id, (await store.find('AuthorizationCode', id))!);
      return async () => await redemption.fail(clientId);
    };
    for (const id of ['guessed', 'raced']) await store.put('AuthorizationCode', id, { clientId: 'app' }, life);
    await (await fail('other', 'guessed'))();
    expect(await store.find('AuthorizationCode', 'guessed')).not.toBeNull();
    await (await fail('app', 'guessed'))();
    expect(await store.find('AuthorizationCode', 'guessed')).toBeNull();
    const late = await fail('app', 'raced');
    await store.swap([{ kind: 'AuthorizationCode', id: 'raced', from: null, to: JSON.stringify(states.answering) }]);
    await late();
    expect(await store.find('AuthorizationCode', 'raced')).not.toBeNull();
  });
});
