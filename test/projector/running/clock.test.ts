import { uptime } from 'node:os';
import { expect, it } from 'vitest';
import { backgroundClock, machineUpMs, realClock } from '../../../projector/running/clock.ts';

it('a sleep ends at once when the signal has aborted, and in the background keeps no process alive', async () => {
  const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
  for (const [clock, more] of [[realClock, 1] as const, [backgroundClock, 0] as const]) {
    const stop = new AbortController();
    const before = timers();
    const sleeping = clock.sleep(1e9, stop.signal);
    expect(timers() - before).toBe(more);
    stop.abort();
    await sleeping;
    const aborted = clock.sleep(1e9, stop.signal);
    expect(timers()).toBe(before);
    await aborted;
  }
});

it('the time since the machine started is in milliseconds', () => {
  expect(machineUpMs() / uptime()).toBeCloseTo(1_000, -1);
});
