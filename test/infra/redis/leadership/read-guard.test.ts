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
    looksForFormats: 0,
    asked: 0,
  };
  const clock = new SteppingClock();
  const guard = new ReadGuard(
    {
      async processes() {
        masters.asked++;
        if (masters.processes instanceof Error) throw masters.processes;
        return masters.processes;
      },
      async look(_, formats) {
        masters.looks++;
        if (formats) masters.looksForFormats++;
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

it('what is not known is asked for ten times a second, by one loop, whatever happens meanwhile', async () => {
  for (const away of [null, new Error('away')]) {
    const { masters, clock, guard, covers } = scene({ connected: false });
    masters.processes = away;
    for (let i = 0; i < 5; i++) guard.connectionChanged();
    // For longer than a silent store is doubted.
    await turns(80);
    expect([covers(), new Set(clock.slept)]).toEqual([false, new Set([100, 1_000])]);
    expect(masters.asked).toBeGreaterThan(40);
    expect(masters.asked).toBeLessThan(100);
    masters.processes = ['a'];
    await expect.poll(covers).toBe(true);
  }
});

it('once all is known, only the masters are asked, each second', async () => {
  const { masters, clock, guard, covers } = scene();
  await expect.poll(covers).toBe(true);
  await turns(5);
  expect([guard.current, guard.reason]).toEqual([true, null]);
  const { length } = clock.slept;
  const { looks, asked } = masters;
  await turns(10);
  expect(new Set(clock.slept.slice(length))).toEqual(new Set([1_000]));
  expect([masters.looks, masters.asked > asked]).toEqual([looks, true]);
});

it('a connection that changes is doubted, until the same process is found again', async () => {
  const { guard, covers } = scene();
  for (let i = 0; i < 3; i++) {
    await expect.poll(covers).toBe(true);
    await turns(5);
    guard.connectionChanged();
    expect(covers()).toBe(false);
  }
});

it('views beside those of another format are served once ours are led, and then that is not asked again', async () => {
  const { masters, guard } = scene();
  const others = [1];
  masters.tag = () => ({ fence: '1:7:ada:led', led: 'ada', others, coming: null, stamp: null });
  await turns(10);
  expect([guard.current, guard.reason]).toEqual([false, expect.stringContaining('views of format 1')]);
  let sequence = 7;
  masters.tag = () => ({ fence: `1:${++sequence}:ada:led`, led: 'ada', others, coming: null, stamp: null });
  await expect.poll(() => guard.current).toBe(true);
  await turns(5);
  const { looks, looksForFormats } = masters;
  // No tag is stamped: all of them are still looked at.
  await turns(10);
  expect([masters.looks > looks, masters.looksForFormats]).toEqual([true, looksForFormats]);
});

it('a stamp of another process makes the guard ask again', async () => {
  const { masters, guard, covers } = scene();
  await expect.poll(covers).toBe(true);
  await turns(5);
  const { looks } = masters;
  expect([guard.isComplete(3, 'a'), guard.isComplete(3, 'z'), guard.covers([3]), guard.covers([4])]).toEqual([
    true,
    false,
    false,
    true,
  ]);
  // At once: not a turn of the event loop passes.
  for (let i = 0; i < 20; i++) await null;
  expect([masters.looks > looks, covers()]).toEqual([true, true]);
});
