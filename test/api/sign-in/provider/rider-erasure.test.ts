import { expect, onTestFinished, test, vi } from 'vitest';
import { StoreAwayError } from '../../../../api/ports/view-reader.ts';
import { riderErasure } from '../../../../api/sign-in/provider/rider-erasure.ts';
import { memorySignInState } from '../../../../infra/memory/memory-sign-in-state.ts';

// docs/rules.md#ended-tokens
test('a sweep that fails is repeated until it succeeds, is not put off by those who ask, and one line says so', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const store = memorySignInState();
  await store.put('Grant', 'one', {}, { lifeSeconds: 60, account: 'rider-ada' });
  const said: string[] = [];
  let asked = 0;
  const erasure = riderErasure({
    store,
    riders: {
      async card() {
        if (++asked <= 3) throw new Error('the views are away');
        return null;
      },
    },
    logger: { info: () => undefined, warn: (line: unknown) => void said.push(String(line)) },
    sweepDelayMs: 5,
  });
  for (let ms = 0; ms < 5; ms++) {
    erasure.sweepSoon();
    await vi.advanceTimersByTimeAsync(1);
  }
  expect(asked).toBe(1);
  await vi.advanceTimersByTimeAsync(15);
  expect([asked, await store.ofAccount('rider-ada')]).toEqual([4, []]);
  expect(said).toEqual(['Cannot destroy the grants of erased riders, trying again: the views are away']);
  erasure.sweepSoon();
  erasure.close();
  await store.put('Grant', 'two', {}, { lifeSeconds: 60, account: 'rider-bo' });
  erasure.sweepSoon();
  await vi.advanceTimersByTimeAsync(20);
  expect(asked).toBe(4);
});

// docs/rules.md#republished-rider
test('an erasure that the store could not finish is finished later, though the rider is back', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const store = memorySignInState();
  await store.put('Grant', 'one', {}, { lifeSeconds: 60, account: 'rider-ada' });
  let away = true;
  const erasure = riderErasure({
    store: {
      ...store,
      async remove(kind, id) {
        if (away) throw new StoreAwayError('away');
        await store.remove(kind, id);
      },
    },
    riders: { card: async () => ({ handle: 'ada', name: null }) },
    logger: { info: () => undefined, warn: () => undefined },
    sweepDelayMs: 1,
  });
  await erasure.eraseRider('rider-ada');
  expect(await store.ofAccount('rider-ada')).toHaveLength(1);
  away = false;
  await vi.advanceTimersByTimeAsync(10);
  expect(await store.ofAccount('rider-ada')).toEqual([]);
});
