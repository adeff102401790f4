import { expect, it, onTestFinished, vi } from 'vitest';
import { riderErasure } from '../../../../api/sign-in/provider/rider-erasure.ts';
import { memorySignInState } from '../../../../infra/memory/memory-sign-in-state.ts';

// docs/rules.md#ended-tokens
it('a sweep for erased riders that fails is repeated until it succeeds, and one line says so', async () => {
  const store = memorySignInState();
  await store.put('Grant', 'one', {}, { lifeSeconds: 60, account: 'rider-ada' });
  const said: string[] = [];
  const ended: string[] = [];
  let failures = 3;
  const erasure = riderErasure({
    store: { ...store, remove: async () => {}, tidyAccount: async (rider) => void ended.push(rider) },
    riders: {
      async card() {
        if (failures-- > 0) throw new Error('the views are away');
        return null;
      },
    },
    logger: { info: () => undefined, warn: (line: unknown) => void said.push(String(line)) },
    sweepDelayMs: 1,
  });
  erasure.sweepSoon();
  await expect.poll(() => ended).toEqual(['rider-ada']);
  expect(said).toEqual(['Cannot destroy the grants of erased riders, trying again: the views are away']);
  failures = 1;
  erasure.sweepSoon();
  await expect.poll(() => ended).toHaveLength(2);
  expect(said).toHaveLength(2);
  erasure.close();
  await store.close();
});

it('a sweep is not put off by those who ask for one meanwhile, and none follows once it is closed', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const sweeps: PromiseWithResolvers<never>[] = [];
  const erasure = riderErasure({
    store: {
      ...memorySignInState(),
      async *accounts() {
        const sweep = Promise.withResolvers<never>();
        sweeps.push(sweep);
        yield await sweep.promise;
      },
    },
    riders: { card: async () => null },
    logger: { info: () => undefined, warn: () => undefined },
    sweepDelayMs: 5,
  });
  for (let ms = 0; ms < 5; ms++) {
    erasure.sweepSoon();
    await vi.advanceTimersByTimeAsync(1);
  }
  expect(sweeps).toHaveLength(1);
  erasure.close();
  sweeps[0]!.reject(new Error('the store is away'));
  await vi.advanceTimersByTimeAsync(20);
  expect(sweeps).toHaveLength(1);
});
