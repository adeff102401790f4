import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { StateStore } from '../../api/ports/sign-in-state.ts';

/**
 * What every store of sign-in's state promises (api/ports/sign-in-state.ts). `shortMs`: a life that a few requests don't outlast,
 * however busy the machine is.
 */
export function signInStateContract(name: string, make: () => StateStore | Promise<StateStore>, shortMs: number): void {
  describe(`sign-in's state in ${name}`, () => {
    let store: StateStore;
    beforeAll(async () => {
      store = await make();
    });
    afterAll(async () => {
      await store.close();
    });
    const life = { lifeSeconds: 60 };
    const short = { lifeSeconds: shortMs / 1000 };
    const rule = { graceMs: 60_000, max: 3 };

    test('an entry is found as it was put, as a copy, and only under its kind', async () => {
      const id = randomUUID();
      const payload = { text: 'ü🚲"', list: [1, null, { a: true }], 'm:x': 'no mark' };
      await store.put('A', id, payload, life);
      (payload.list as unknown[]).push(2);
      ((await store.find('A', id))!.list as unknown[]).push(3);
      expect(await store.find('A', id)).toEqual({ ...payload, list: payload.list.slice(0, -1) });
      expect(await store.find('B', id)).toBeNull();
      expect(await store.find('A', `${id}x`)).toBeNull();
    });

    test('an entry is gone when its life is over', async () => {
      const id = randomUUID();
      await store.put('A', `${id}x`, {}, { ...life, account: `${id}x` });
      await store.put('A', id, {}, { ...short, account: id });
      await store.put('A', `${id}y`, {}, { ...short, account: `${id}x` });
      expect(await store.find('A', id)).not.toBeNull();
      expect(await Array.fromAsync(store.accounts())).toContain(id);
      await sleep(shortMs + 100);
      expect(await store.ofAccount(id)).toEqual([]);
      const accounts = await Array.fromAsync(store.accounts());
      // An account that has a longer entry stays one.
      expect([accounts.includes(id), accounts.includes(`${id}x`)]).toEqual([false, true]);
      expect(await store.find('A', id)).toBeNull();
      expect(await store.take('A', id)).toBeNull();
      expect(await store.use('A', id, rule)).toBeNull();
      expect(await store.find('A', id)).toBeNull();
    });

    // docs/rules.md#clock
    test.each([86_400_000, -86_400_000])(
      'a clock of this process that is stepped by %i ms ends nothing',
      async (stepMs) => {
        const id = randomUUID();
        const limiter = store.limiter({ name: `step-${id}`, points: 1, duration: 60 });
        await store.put('A', id, {}, { ...life, account: id });
        expect(await store.use('A', id, rule)).toEqual({ was: 'first' });
        expect((await limiter.penalty(id)).consumedPoints).toBe(1);
        vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + stepMs });
        try {
          expect(await store.use('A', id, rule)).toEqual({ was: 'again' });
          const { consumedPoints, msBeforeNext } = await limiter.penalty(id);
          expect([consumedPoints, msBeforeNext > 0, msBeforeNext <= 60_000]).toEqual([2, true, true]);
          expect(await store.ofAccount(id)).toEqual([{ kind: 'A', id, payload: {} }]);
          expect(await Array.fromAsync(store.accounts())).toContain(id);
        } finally {
          vi.useRealTimers();
        }
      },
    );

    test('an entry that is extended lives on, and one that is gone does not come back', async () => {
      const id = randomUUID();
      await store.put('A', id, { n: 1 }, short);
      await store.extend('A', id, 60);
      await store.extend('A', `${id}x`, 60);
      await sleep(shortMs + 100);
      expect(await store.find('A', id)).toEqual({ n: 1 });
      expect(await store.find('A', `${id}x`)).toBeNull();
    });

    test('of many who take an entry one gets it', async () => {
      const id = randomUUID();
      await store.put('A', id, { n: 1 }, life);
      const taken = await Promise.all(Array.from({ length: 8 }, () => store.take('A', id)));
      expect(taken.filter((entry) => entry !== null)).toEqual([{ n: 1 }]);
      expect(await store.find('A', id)).toBeNull();
    });

    test('of many uses one is the first, as many as may be follow, and the others are refused, till it is put again', async () => {
      const id = randomUUID();
      await store.put('A', id, { n: 1 }, { lifeSeconds: 1 });
      const many = await Promise.all(Array.from({ length: 8 }, () => store.use('A', id, rule)));
      expect(many.map((use) => use!.was).sort()).toEqual(['again', 'again', 'first', ...Array(5).fill('refused')]);
      expect(await store.find('A', id)).toEqual({ n: 1 });
      expect(await store.use('A', `${id}x`, rule)).toBeNull();
      await store.put('A', id, { n: 2 }, { lifeSeconds: 1 });
      expect(await store.use('A', id, rule)).toEqual({ was: 'first' });
      expect(await store.find('A', id)).toEqual({ n: 2 });
      await sleep(1_100);
      expect(await store.use('A', id, rule)).toBeNull();
    });

    test('a use is late once the grace after the first is over, whatever came since and whatever the limit', async () => {
      const [id, key] = [randomUUID(), randomUUID()];
      const brief = { graceMs: shortMs, max: 2, limit: { key, max: 2, windowMs: 60_000 } };
      await store.put('A', id, {}, life);
      await store.put('A', `${id}x`, {}, life);
      for (const was of ['first', 'again', 'refused']) expect(await store.use('A', id, brief)).toEqual({ was });
      expect(await store.use('A', `${id}x`, brief)).toMatchObject({ was: 'limited' });
      await sleep(shortMs + 100);
      expect(await store.use('A', id, brief)).toEqual({ was: 'late' });
      // What was limited was not used: it is no late use afterwards.
      expect(await store.use('A', `${id}x`, brief)).toMatchObject({ was: 'limited' });
      expect(await store.use('A', `${id}x`, rule)).toEqual({ was: 'first' });
    });

    test('a limit counts the uses of all entries with its key, refused ones not, in windows of its own', async () => {
      const [id, key] = [randomUUID(), randomUUID()];
      const limited = (key: string) => ({ ...rule, max: 1, limit: { key, max: 3, windowMs: 1_000 } });
      for (let n = 0; n < 6; n++) await store.put('A', `${id}${n}`, {}, life);
      const use = async (n: number, of = key) => (await store.use('A', `${id}${n}`, limited(of)))!;
      const uses = [];
      for (const n of [0, 0, 1, 2]) uses.push((await use(n)).was);
      expect(uses).toEqual(['first', 'refused', 'first', 'first']);
      const { was, waitMs } = (await use(3)) as { was: string; waitMs: number };
      expect([was, waitMs > 0 && waitMs <= 1_000]).toEqual(['limited', true]);
      expect(await use(4, `${key}x`)).toEqual({ was: 'first' });
      // A window begins with its first use: later ones don't make it longer.
      await sleep(waitMs / 2);
      expect(await use(3)).toMatchObject({ was: 'limited' });
      await sleep(waitMs / 2 + 5);
      expect(await use(3)).toEqual({ was: 'first' });
    });

    test('an account finds its own entries, and none put for another since, or removed; tidied, it is none once it has none', async () => {
      const [account, other] = [randomUUID(), randomUUID()];
      const put = (kind: string, n: number, of = account) =>
        store.put(kind, `${account}:${n}`, { n }, { ...life, account: of });
      for (const n of [1, 3, 4]) await put('Session', n);
      await put('Grant', 2);
      await put('Session', 3, other);
      await store.remove('Session', `${account}:4`);
      const found = await store.ofAccount(account);
      expect(found.sort((a, b) => a.id.localeCompare(b.id))).toEqual([
        { kind: 'Session', id: `${account}:1`, payload: { n: 1 } },
        { kind: 'Grant', id: `${account}:2`, payload: { n: 2 } },
      ]);
      expect((await store.ofAccount(account, 'Session')).map(({ id }) => id)).toEqual([`${account}:1`]);
      const known = () => Array.fromAsync(store.accounts());
      await store.tidyAccount(account);
      expect((await store.ofAccount(account)).map(({ id }) => id).sort()).toEqual([`${account}:1`, `${account}:2`]);
      expect(await known()).toEqual(expect.arrayContaining([account, other]));
      await store.take('Session', `${account}:1`);
      await store.remove('Grant', `${account}:2`);
      await store.tidyAccount(account);
      expect(await known()).not.toContain(account);
    });

    test('a limiter counts each key in windows of its own, which begin with the first', async () => {
      const [one, other] = [randomUUID(), randomUUID()];
      const limiter = store.limiter({ name: randomUUID(), points: 3, duration: 2 });
      const counts = await Promise.all(Array.from({ length: 5 }, () => limiter.penalty(one, 1)));
      expect(counts.map(({ consumedPoints }) => consumedPoints).sort()).toEqual([1, 2, 3, 4, 5]);
      await sleep(500);
      const seen = await limiter.penalty(one, 0);
      // A window that began with the latest would have all of two seconds left.
      expect([seen.consumedPoints, seen.msBeforeNext > 0 && seen.msBeforeNext <= 1_600]).toEqual([5, true]);
      expect((await limiter.penalty(other, 1)).consumedPoints).toBe(1);
      await sleep(seen.msBeforeNext + 5);
      expect((await limiter.penalty(one, 1)).consumedPoints).toBe(1);
      expect((await limiter.penalty(other, 1)).consumedPoints).toBe(2);
    });
  });
}
