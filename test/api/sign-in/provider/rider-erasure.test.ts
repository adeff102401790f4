import { expect, it } from 'vitest';
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
    store,
    grants: { endRider: async (rider) => void ended.push(rider) },
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
