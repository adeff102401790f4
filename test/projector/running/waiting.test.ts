import { describe, expect, it } from 'vitest';
import { realClock } from '../../../projector/running/clock.ts';
import { retryLogged, settledWithin, WakeUp } from '../../../projector/running/waiting.ts';
import { turns } from '../../support/stores/event-loop-turns.ts';
import { sharedDeps } from '../../support/stores/shared-deps.ts';
import { SteppingClock } from '../../support/stores/stepping-clock.ts';

const never = new Promise<never>(() => {});

describe('a wake-up', () => {
  it('wakes everybody who waits, once, and nobody who begins to wait later', async () => {
    const wakeUp = new WakeUp();
    wakeUp.notify();
    const clock = new SteppingClock();
    await wakeUp.waitAtMost(250, clock);
    expect(clock.slept).toEqual([250]);
    let woken = 0;
    const waitAgain = (): Promise<void> =>
      wakeUp.wait().then(() => {
        woken++;
        return waitAgain();
      });
    void waitAgain();
    await turns();
    expect(woken).toBe(0);
    const waiting = [wakeUp.wait(), wakeUp.wait(), wakeUp.waitAtMost(1e9, realClock)];
    wakeUp.notify();
    await Promise.all(waiting);
    await turns();
    expect(woken).toBe(1);
  });

  it('ends at once when the signal aborts, or has', async () => {
    const { stop, signal } = sharedDeps();
    const waiting = new WakeUp().waitAtMost(1e9, realClock, signal);
    stop.abort();
    await waiting;
    await new WakeUp().waitAtMost(1e9, realClock, signal);
  });
});

it('settled within ends with the promise, whatever it comes to, or after the time', async () => {
  await settledWithin(Promise.resolve(), 1e9);
  await settledWithin(Promise.reject(new Error('fault')), 1e9);
  const clock = new SteppingClock();
  await settledWithin(never, 2_000, clock);
  expect(clock.slept).toEqual([2_000]);
});

describe('what is tried again', () => {
  /** `stopsAt`: it is told to stop amid this attempt, or before all. */
  async function tried(outcomes: (Error | string)[], stopsAt?: number) {
    const { lines: said, stop, ...shared } = sharedDeps();
    let attempts = 0;
    if (stopsAt === 0) stop.abort();
    const attempt = async () => {
      const outcome = outcomes[attempts++]!;
      if (attempts === stopsAt) stop.abort();
      if (outcome instanceof Error) throw outcome;
      return outcome;
    };
    const got = await retryLogged('compare views', attempt, shared);
    return { got, attempts, said, slept: shared.clock.slept };
  }
  const away = new Error('away');

  it('has each new reason of a failure logged once, and the success after it', async () => {
    const loading = new Error('loading');
    expect(await tried([away, away, loading, loading, loading, loading, 'done'])).toEqual({
      got: 'done',
      attempts: 7,
      said: [
        'Cannot compare views, trying again: away',
        'Cannot compare views, trying again: loading',
        'It could compare views now',
      ],
      slept: [100, 200, 400, 800, 1_600, 2_000],
    });
    expect(await tried(['done'])).toEqual({ got: 'done', attempts: 1, said: [], slept: [] });
  });

  it('throws an error that says not to retry, and is not attempted once told to stop', async () => {
    await expect(tried([Object.assign(new Error('unfit'), { retry: false })])).rejects.toThrow('unfit');
    const silent = { said: [], slept: [] };
    expect(await tried(['done'], 0)).toEqual({ got: null, attempts: 0, ...silent });
    expect(await tried([away, 'done'], 1)).toEqual({ got: null, attempts: 1, ...silent });
    expect(await tried(['done'], 1)).toEqual({ got: 'done', attempts: 1, ...silent });
  });
});
