import { expect, onTestFinished, test, vi } from 'vitest';
import { StoreAwayError } from '../../../../api/ports/view-reader.ts';
import { riderErasure } from '../../../../api/sign-in/provider/rider-erasure.ts';
import { memorySignInState } from '../../../../infra/memory/memory-sign-in-state.ts';

/** An erasure of riders of whom `card` knows, over a store with a grant of one of them, as time is moved on. */
async function startErasure(card: () => Promise<{ handle: string; name: null } | null>, sweepDelayMs: number) {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const memory = memorySignInState();
  const grant = (id: string, account: string) => memory.put('Grant', id, {}, { lifeSeconds: 60, account });
  await grant('one', 'rider-ada');
  const [said, store]: [string[], { away: boolean }] = [[], { away: false }];
  const erasure = riderErasure({
    store: {
      ...memory,
      async remove(kind, id) {
        if (store.away) throw new StoreAwayError('away');
        await memory.remove(kind, id);
      },
    },
    riders: { card },
    logger: { info: () => undefined, warn: (line: unknown) => void said.push(String(line)) },
    sweepDelayMs,
  });
  return { erasure, grant, said, store, ofAda: () => memory.ofAccount('rider-ada') };
}

// docs/rules.md#ended-tokens
test('a sweep that fails is repeated until it succeeds, is not put off by those who ask, and one line says so', async () => {
  let asked = 0;
  const { erasure, grant, said, ofAda } = await startErasure(async () => {
    if (++asked <= 3) throw new Error('the views are away');
    return null;
  }, 5);
  for (let ms = 0; ms < 5; ms++) {
    erasure.sweepSoon();
    await vi.advanceTimersByTimeAsync(1);
  }
  expect(asked).toBe(1);
  await vi.advanceTimersByTimeAsync(15);
  expect([asked, await ofAda()]).toEqual([4, []]);
  expect(said).toEqual(['Cannot destroy the grants of erased riders, trying again: the views are away']);
  erasure.sweepSoon();
  erasure.close();
  await grant('two', 'rider-bo');
  erasure.sweepSoon();
  await vi.advanceTimersByTimeAsync(20);
  expect(asked).toBe(4);
});

// docs/rules.md#republished-rider
test('an erasure that the store could not finish is finished later, though the rider is back', async () => {
  const { erasure, store, ofAda } = await startErasure(async () => ({ handle: 'ada', name: null }), 1);
  store.away = true;
  await erasure.eraseRider('rider-ada');
  expect(await ofAda()).toHaveLength(1);
  store.away = false;
  await vi.advanceTimersByTimeAsync(10);
  expect(await ofAda()).toEqual([]);
});
