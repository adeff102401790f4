import { afterEach, expect, it } from 'vitest';
import { FailoverGuard } from '../../../infra/redis/redis-failover-guard.ts';
import { allTags } from '../../../schemas/views/view-keys.ts';
import { SteppingClock } from '../../support/stepping-clock.ts';

const guards: FailoverGuard[] = [];
afterEach(() => {
  for (const guard of guards.splice(0)) guard.close();
});

/** A guard over masters that are as the test says, by a clock that steps. */
function scene({ mayChangeUnseen = false, connected = true } = {}) {
  const masters = {
    runIds: (connected ? ['a'] : null) as (string | null)[] | Error | null,
    tag: (): { fence: string | null; complete: boolean } => ({ fence: '1:7', complete: true }),
    looks: 0,
  };
  const clock = new SteppingClock();
  const guard = new FailoverGuard(
    {
      mayChangeUnseen,
      async runIds() {
        if (masters.runIds instanceof Error) throw masters.runIds;
        return masters.runIds;
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
function moving(complete: boolean) {
  let sequence = 0;
  return () => ({ fence: `2:${++sequence}`, complete });
}

const turns = async (count: number): Promise<void> => {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve));
};

it('a Redis that is not connected yet is asked every 100 ms until it is, and then no more', async () => {
  const { masters, clock, covers } = scene({ connected: false });
  await turns(3);
  expect(covers()).toBe(false);
  masters.runIds = ['a'];
  await expect.poll(covers).toBe(true);
  const slept = clock.slept.length;
  await turns(5);
  expect(clock.slept).toEqual(Array(slept).fill(100));
  expect(masters.looks).toBe(0);
});

it('the same Redis after a lost connection is answered from once it has told its id, with no look at a tag', async () => {
  const { masters, guard, covers } = scene();
  await expect.poll(covers).toBe(true);
  masters.runIds = new Error('away');
  guard.connectionChanged();
  await turns(5);
  expect(covers()).toBe(false);
  masters.runIds = ['a'];
  await expect.poll(covers).toBe(true);
  expect(masters.looks).toBe(0);
});

it('another Redis is answered from once every fence has moved and every tag is complete', async () => {
  const { masters, guard, covers } = scene();
  await expect.poll(covers).toBe(true);
  masters.runIds = ['b'];
  masters.tag = moving(false);
  guard.connectionChanged();
  await expect.poll(() => masters.looks).toBeGreaterThan(2 * allTags.length);
  expect(covers()).toBe(false);
  masters.tag = moving(true);
  await expect.poll(covers).toBe(true);
});

it('another Redis that no projector writes to is answered from after ten seconds by the clock', async () => {
  const { masters, clock, guard, covers } = scene();
  await expect.poll(covers).toBe(true);
  masters.runIds = ['b'];
  const before = clock.nowMs();
  guard.connectionChanged();
  await expect.poll(covers, { timeout: 10_000 }).toBe(true);
  // Looks begin at once and come every 100 ms; the last is the first one past ten seconds.
  expect(clock.nowMs() - before).toBeGreaterThan(10_000);
  expect(clock.nowMs() - before).toBeLessThanOrEqual(10_200);
});

it('a replica that takes over without a lost connection is noticed at the next check, a second later', async () => {
  const { masters, clock, covers } = scene({ mayChangeUnseen: true });
  await expect.poll(covers).toBe(true);
  masters.runIds = ['b'];
  masters.tag = moving(false);
  await expect.poll(() => masters.looks).toBeGreaterThan(0);
  expect(covers()).toBe(false);
  expect(clock.slept).toContain(1_000);
  masters.tag = moving(true);
  await expect.poll(covers).toBe(true);
});

it('a guard that is closed asks no more', async () => {
  const { masters, guard, clock } = scene({ mayChangeUnseen: true });
  masters.runIds = new Error('away');
  guard.close();
  await turns(3);
  const { length } = clock.slept;
  await turns(5);
  expect(clock.slept).toHaveLength(length);
});
