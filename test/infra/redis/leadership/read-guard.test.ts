import { afterEach, expect, it } from 'vitest';
import type { StampLook } from '../../../../infra/redis/leadership/failover-state.ts';
import type { FormatLook } from '../../../../infra/redis/leadership/generation-state.ts';
import { ReadGuard } from '../../../../infra/redis/leadership/read-guard.ts';
import { allTags } from '../../../../schemas/views/view-keys.ts';
import { SteppingClock } from '../../../support/stores/stepping-clock.ts';

const guards: ReadGuard[] = [];
afterEach(() => {
  for (const guard of guards.splice(0)) guard.close();
});

/** No other view format is there. */
const alone = { led: null, others: [] };

/** A guard over masters that are as the test says, by a clock that steps. */
function scene({ connected = true } = {}) {
  const masters = {
    processes: (connected ? ['a'] : null) as readonly string[] | Error | null,
    tag: (): Omit<StampLook, 'nowMs'> & FormatLook => ({ ...alone, fence: '1:7', coming: null, stamp: 'a' }),
    looks: 0,
  };
  const clock = new SteppingClock();
  const guard = new ReadGuard(
    {
      async processes() {
        if (masters.processes instanceof Error) throw masters.processes;
        return masters.processes;
      },
      async look() {
        masters.looks++;
        return masters.tag();
      },
    },
    clock,
  );
  guards.push(guard);
  return { masters, clock, guard, covers: () => guard.covers(allTags) };
}

/** A projector writes: every look sees another fence. */
function moving(stamp: string | null) {
  let sequence = 0;
  return () => ({ ...alone, fence: `2:${++sequence}`, coming: null, stamp });
}

const turns = async (count: number): Promise<void> => {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve));
};

// docs/rules.md#complete
it('a replica that takes over without a lost connection is noticed at the next check, a second later', async () => {
  const { masters, clock, covers } = scene();
  await expect.poll(covers).toBe(true);
  masters.processes = ['b'];
  masters.tag = moving('a');
  await expect.poll(covers).toBe(false);
  expect(clock.slept).toContain(1_000);
  masters.tag = moving('b');
  await expect.poll(covers).toBe(true);
});

it('a guard that is closed asks no more', async () => {
  const { masters, guard, clock } = scene();
  masters.processes = new Error('away');
  guard.close();
  await turns(3);
  const { length } = clock.slept;
  await turns(5);
  expect(clock.slept).toHaveLength(length);
});
