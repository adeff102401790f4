import { describe, expect, it } from 'vitest';
import { realClock } from '../../../projector/running/clock.ts';
import { retry, retryLogged, settledWithin, WakeUp } from '../../../projector/running/waiting.ts';
import { sharedDeps } from '../../support/stores/shared-deps.ts';
import { SteppingClock } from '../../support/stores/stepping-clock.ts';

const limits = { minMs: 100, maxMs: 1_000 };
const never = new Promise<never>(() => {});
const stopped = AbortSignal.abort(new Error('told to stop'));
const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('retry', () => {
  /** Attempts that fail so often. `onFailure`: what is done about each. */
  async function retried(
    failures: number,
    options: { signal?: AbortSignal; onFailure?(): void; stopsAt?: number } = {},
  ) {
    const { clock, stop } = sharedDeps();
    const reported: string[] = [];
    let attempts = 0;
    const attempt = async () => {
      if (++attempts === options.stopsAt) stop.abort();
      if (attempts <= failures) throw new Error(`fault ${attempts}`);
      return 'done';
    };
    const onFailure = (error: unknown): void => {
      reported.push((error as Error).message);
      options.onFailure?.();
    };
    const given = { limits, clock, signal: options.signal ?? stop.signal, onFailure };
    return { got: await retry(attempt, given), attempts, reported, slept: clock.slept };
  }

  it('attempts until one succeeds, or it is told to stop, and reports each failure before that', async () => {
    const two = { reported: ['fault 1', 'fault 2'], slept: [100, 200] };
    expect(await retried(2)).toEqual({ got: 'done', attempts: 3, ...two });
    expect(await retried(9, { stopsAt: 3 })).toEqual({ got: null, attempts: 3, ...two });
  });

  it('makes one attempt after the signal has aborted, and ends with what onFailure throws', async () => {
    const once = { attempts: 1, reported: [], slept: [] };
    expect(await retried(0, { signal: stopped })).toEqual({ got: 'done', ...once });
    expect(await retried(1, { signal: stopped })).toEqual({ got: null, ...once });
    const refuse = (): never => {
      throw new Error('refused');
    };
    await expect(retried(1, { onFailure: refuse })).rejects.toThrow('refused');
  });
});

describe('a wake-up', () => {
  it('wakes everybody who waits, once, and nobody who begins to wait later', async () => {
    const wakeUp = new WakeUp();
    wakeUp.notify();
    const clock = new SteppingClock();
    await wakeUp.waitAtMost(250, clock);
    expect(clock.slept).toEqual([250]);
    let woken = 0;
    const waitAgain = async () => {
      await wakeUp.wait();
      woken++;
      await waitAgain();
    };
    void waitAgain();
    await turn();
    expect(woken).toBe(0);
    const waiting = [wakeUp.wait(), wakeUp.wait(), wakeUp.waitAtMost(1e9, realClock)];
    wakeUp.notify();
    await Promise.all(waiting);
    await turn();
    expect(woken).toBe(1);
  });

  it('ends at once when the signal aborts, or has', async () => {
    const stop = new AbortController();
    const waiting = new WakeUp().waitAtMost(1e9, realClock, stop.signal);
    stop.abort();
    await waiting;
    await new WakeUp().waitAtMost(1e9, realClock, stopped);
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
  async function tried(outcomes: (Error | string)[], isStopped = false) {
    const { lines: said, ...shared } = sharedDeps();
    const attempt = async () => {
      const outcome = outcomes.shift()!;
      if (outcome instanceof Error) throw outcome;
      return outcome;
    };
    const got = await retryLogged('compare views', attempt, { ...shared, ...(isStopped && { signal: stopped }) });
    return { got, said, slept: shared.clock.slept, left: outcomes.length };
  }

  it('has each new reason of a failure logged once, and the success after it', async () => {
    const { got, said } = await tried([new Error('away'), new Error('away'), new Error('loading'), 'done']);
    expect(got).toBe('done');
    expect(said).toEqual([
      'Cannot compare views, trying again: away',
      'Cannot compare views, trying again: loading',
      'It could compare views now',
    ]);
    expect(await tried(['done'])).toEqual({ got: 'done', said: [], slept: [], left: 0 });
  });

  it('throws an error that says not to retry, and is not attempted once told to stop', async () => {
    await expect(tried([Object.assign(new Error('unfit'), { retry: false })])).rejects.toThrow('unfit');
    expect(await tried(['done'], true)).toEqual({ got: null, said: [], slept: [], left: 1 });
  });
});
