import { afterEach, expect, test } from 'vitest';
import { type StateStore, StateStoreAwayError } from '../../../api/oauth/state-store.ts';
import { RecentErasures, type RecentErasuresOptions } from '../../../api/tokens/recent-erasures.ts';
import { signSampleToken } from '../../../api/tokens/sample-token.ts';
import { createTokenChecker } from '../../../api/tokens/token-checker.ts';
import { memoryAuthState } from '../../../infra/memory/auth-state-memory.ts';
import { newSigningKeys } from '../../support/sign-in-service.ts';

const toClose: { close(): unknown }[] = [];
afterEach(async () => {
  for (const one of toClose.splice(0)) await one.close();
});

const startMs = 1_800_000_000_000;
const startSeconds = startMs / 1000;

/** A store that the test may take away, and a process's memory of erasures over it. */
function make(options: Partial<RecentErasuresOptions> & { at?: { ms: number }; store?: StateStore } = {}) {
  const at = options.at ?? { ms: startMs };
  const nowMs = () => at.ms;
  const memory = options.store ?? memoryAuthState({ nowMs });
  const away = { is: false };
  const store: StateStore = {
    ...memory,
    noteErasures: async (...args) => {
      if (away.is) throw new StateStoreAwayError('away');
      await memory.noteErasures(...args);
    },
    erasures: async () => {
      if (away.is) throw new StateStoreAwayError('away');
      return await memory.erasures();
    },
  };
  const erasures = new RecentErasures({ learnEveryMs: 10, ...options, store, nowMs });
  toClose.push(erasures, memory);
  return { erasures, store, at, away };
}

test('tokens issued up to the second of an erasure have ended, later ones and those of others have not', async () => {
  const { erasures } = make();
  await erasures.note('ada');
  expect([-600, -1, 0, 1, 600].map((seconds) => erasures.ended('ada', startSeconds + seconds))).toEqual([
    true,
    true,
    true,
    false,
    false,
  ]);
  expect(erasures.ended('bo', startSeconds - 600)).toBe(false);
});

test('an erasure is forgotten only when every token issued before it has expired', async () => {
  const { erasures, store, at } = make({ tokenSeconds: 600 });
  await erasures.note('ada');
  at.ms += 600_000;
  await erasures.note('bo');
  expect(erasures.ended('ada', startSeconds)).toBe(true);
  at.ms += 61_000;
  await erasures.note('cy');
  expect(erasures.ended('ada', startSeconds)).toBe(false);
  expect([...(await store.erasures()).keys()]).toEqual(['bo', 'cy']);
});

test('no more erasures are kept than the memory may take, the latest', async () => {
  const { erasures, at } = make({ sizeMax: 2 });
  for (const rider of ['a', 'b', 'a', 'c']) {
    at.ms += 1;
    await erasures.note(rider);
  }
  expect(['a', 'b', 'c'].map((rider) => erasures.ended(rider, startSeconds))).toEqual([true, false, true]);
});

test('what another process saw is learnt', async () => {
  const { erasures: one, store, at } = make();
  const { erasures: two } = make({ store, at });
  await two.settled;
  await one.note('ada');
  await expect.poll(() => two.ended('ada', startSeconds), { timeout: 20_000 }).toBe(true);
});

test('an erasure that the store could not be told holds here, and is told when the store is back', async () => {
  const { erasures, store, away } = make();
  away.is = true;
  await expect(erasures.note('ada')).rejects.toThrow(StateStoreAwayError);
  expect(erasures.ended('ada', startSeconds)).toBe(true);
  away.is = false;
  await expect.poll(async () => [...(await store.erasures()).keys()], { timeout: 20_000 }).toEqual(['ada']);
});

test('a token waits for what the store knows at the start and after a doubt, and for a store that is away no longer than it takes', async () => {
  const { erasures: before, store, at } = make();
  await before.note('ada');
  const keys = await newSigningKeys();
  const named = { keys, issuer: 'https://rides.example', audience: 'https://rides.example/api' };
  const nowMs = () => at.ms;
  const token = await signSampleToken({ ...named, rider: 'ada', nowMs });
  const { erasures, away } = make({ store, at, learnEveryMs: 1_000_000 });
  const checker = createTokenChecker({ ...named, erasures, nowMs });
  expect(await checker.check(token)).toBeNull();
  expect(checker.check(token)).toBeNull();

  const other = await signSampleToken({ ...named, rider: 'bo', nowMs });
  expect(await checker.check(other)).toBe('bo');
  await before.note('bo');
  // Not heard of it, and nobody said that there may be something to hear.
  expect(checker.check(other)).toBe('bo');
  away.is = true;
  erasures.recheck();
  expect(await checker.check(other)).toBe('bo');
  away.is = false;
  erasures.recheck();
  expect(await checker.check(other)).toBeNull();
  at.ms += 1_000;
  expect(await checker.check(await signSampleToken({ ...named, rider: 'bo', nowMs }))).toBe('bo');
});
