import { expect, it, onTestFinished } from 'vitest';
import type { StampLook } from '../../../../infra/redis/leadership/failover-state.ts';
import type { FormatLook } from '../../../../infra/redis/leadership/generation-state.ts';
import { processOf, ReadGuard } from '../../../../infra/redis/leadership/read-guard.ts';
import type { Clock } from '../../../../projector/running/clock.ts';
import { allTags } from '../../../../schemas/views/view-keys.ts';
import { turns } from '../../../support/stores/event-loop-turns.ts';
import { SteppingClock } from '../../../support/stores/stepping-clock.ts';

type Look = Omit<StampLook, 'nowMs'> & FormatLook;
const stampedFor = (stamp: string | null): Look => ({ fence: '1:7', coming: null, stamp, led: null, others: [] });

/** A guard over masters that are as the test says, by a clock that steps, or another one. */
function scene(by?: Clock) {
  const processes = ['a'] as readonly string[] | Error;
  const masters = { processes, tag: () => stampedFor('a'), looks: 0, asked: 0 };
  const clock = new SteppingClock();
  const guard = new ReadGuard(
    {
      async processes() {
        masters.asked++;
        if (masters.processes instanceof Error) throw masters.processes;
        return masters.processes;
      },
      async look() {
        masters.looks++;
        return masters.tag();
      },
    },
    by ?? clock,
  );
  onTestFinished(() => guard.close());
  return { masters, clock, guard, covers: () => guard.covers(allTags) };
}

// docs/rules.md#complete
it('a replica that takes over without a lost connection is noticed at the next check, a second later', async () => {
  const { masters, clock, covers } = scene();
  await expect.poll(covers).toBe(true);
  const { looks } = masters;
  await turns(10);
  // Once all is known, only the masters are asked.
  expect([masters.looks, new Set(clock.slept.slice(-5))]).toEqual([looks, new Set([1_000])]);
  let sequence = 0;
  masters.processes = ['b'];
  masters.tag = () => ({ ...stampedFor('a'), fence: `2:${++sequence}` });
  await expect.poll(covers).toBe(false);
  masters.tag = () => stampedFor('b');
  await expect.poll(covers).toBe(true);
});

it('what is not known is asked for ten times a second, by one loop, whatever happens meanwhile, until it is closed', async () => {
  const { masters, clock, guard, covers } = scene();
  await expect.poll(covers).toBe(true);
  masters.processes = new Error('away');
  for (let i = 0; i < 5; i++) guard.connectionChanged();
  expect(covers()).toBe(false);
  await turns(3);
  const { length } = clock.slept;
  // For longer than a silent store is doubted.
  await turns(70);
  expect([covers(), new Set(clock.slept.slice(length))]).toEqual([false, new Set([100])]);
  masters.processes = ['a'];
  await expect.poll(covers).toBe(true);
  guard.close();
  await turns(3);
  const { asked } = masters;
  await turns(5);
  expect(masters.asked).toBe(asked);
});

it('a connection that changed, and a stamp of another process, are looked into at once', async () => {
  // A sleep that only a wake-up ends.
  const sleep: Clock['sleep'] = (_, signal) =>
    new Promise((resolve) => signal!.addEventListener('abort', () => resolve()));
  const { masters, guard, covers } = scene({ nowMs: () => 0, wallMs: () => 0, sleep });
  await expect.poll(covers).toBe(true);
  // It has all that it asked for, and sleeps.
  await turns(3);
  for (const doubt of [() => guard.connectionChanged(), () => expect(guard.isComplete(3, 'z')).toBe(false)]) {
    const { asked } = masters;
    expect(guard.isComplete(3, 'a')).toBe(true);
    await turns(3);
    expect(masters.asked).toBe(asked);
    doubt();
    expect(covers()).toBe(false);
    await turns(3);
    expect([masters.asked, covers()]).toEqual([asked + 1, true]);
  }
});

it.each([
  ['master', 'a:b'],
  ['slave', null],
])('a Redis whose role is %s has the process %s', async (role, process) => {
  const infos: Record<string, string> = {
    server: '# Server\r\nrun_id:a\r\n',
    replication: `# Replication\r\nrole:${role}\r\nmaster_replid:b\r\n`,
  };
  expect(await processOf(async (section) => infos[section]!)).toBe(process);
});
