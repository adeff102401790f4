import { describe, expect, it } from 'vitest';
import { realClock } from '../../../projector/ports/clock.ts';
import {
  aborted,
  BackOff,
  retry,
  retryLogged,
  settledWithin,
  untilAborted,
  WakeUp,
} from '../../../projector/ports/waiting.ts';
import { SteppingClock } from '../../support/stores/stepping-clock.ts';

const limits = { minMs: 100, maxMs: 1_000 };
const never = new Promise<never>(() => {});
const { signal } = new AbortController();
const stopped = AbortSignal.abort(new Error('told to stop'));

describe('a back-off', () => {
  it('doubles its pauses up to the longest, and begins anew after a success', async () => {
    const clock = new SteppingClock();
    const backOff = new BackOff(limits, clock);
    for (let i = 0; i < 6; i++) await backOff.pause(signal);
    backOff.reset();
    expect(backOff.nextMs).toBe(100);
    await backOff.pause(signal);
    expect(clock.slept).toEqual([100, 200, 400, 800, 1_000, 1_000, 100]);
  });
});

describe('retry', () => {
  it('attempts until one succeeds, and reports each failure', async () => {
    const clock = new SteppingClock();
    const failures: unknown[] = [];
    const onFailure = (error: unknown) => void failures.push((error as Error).message);
    let attempts = 0;
    const attempt = async () => {
      if (++attempts < 3) throw new Error(`fault ${attempts}`);
      return 'done';
    };
    expect(await retry(attempt, { limits, clock, signal, onFailure })).toBe('done');
    expect([failures, clock.slept]).toEqual([
      ['fault 1', 'fault 2'],
      [100, 200],
    ]);
  });

  it('ends with what onFailure throws', async () => {
    const clock = new SteppingClock();
    const attempt = () => Promise.reject(new Error('refused'));
    const onFailure = (error: unknown) => {
      throw error;
    };
    await expect(retry(attempt, { limits, clock, signal, onFailure })).rejects.toThrow('refused');
    expect(clock.slept).toEqual([]);
  });

  it('makes one attempt after the signal has aborted, and is null without a report where that fails', async () => {
    const clock = new SteppingClock();
    const failures: unknown[] = [];
    const onFailure = (error: unknown) => void failures.push(error);
    const given = { limits, clock, signal: stopped, onFailure };
    expect(await retry(async () => 'done', given)).toBe('done');
    expect(await retry(() => Promise.reject(new Error('away')), given)).toBeNull();
    expect([failures, clock.slept]).toEqual([[], []]);
  });

  it('attempts no more where the signal aborts during a pause', async () => {
    const stop = new AbortController();
    const clock = { nowMs: () => 0, sleep: async () => stop.abort() };
    let attempts = 0;
    const attempt = () => Promise.reject(new Error(`fault ${++attempts}`));
    expect(await retry(attempt, { limits, clock, signal: stop.signal, onFailure() {} })).toBeNull();
    expect(attempts).toBe(1);
  });
});

describe('a wake-up', () => {
  it('wakes everybody who waits, with a longest time or without', async () => {
    const wakeUp = new WakeUp();
    const waiting = [wakeUp.wait(), wakeUp.wait(), wakeUp.waitAtMost(1e9, realClock)];
    wakeUp.notify();
    await Promise.all(waiting);
  });

  it('is not kept for those who begin to wait later', async () => {
    const wakeUp = new WakeUp();
    wakeUp.notify();
    const clock = new SteppingClock();
    await wakeUp.waitAtMost(250, clock);
    expect(clock.slept).toEqual([250]);
    const late = wakeUp.wait().then(() => 'woken');
    expect(await Promise.race([late, new Promise((resolve) => setImmediate(() => resolve('asleep')))])).toBe('asleep');
  });

  it('wakes nobody twice: a waiter that waits again inside of a notify waits for the next one', async () => {
    const wakeUp = new WakeUp();
    let woken = 0;
    const waitAgain = async () => {
      await wakeUp.wait();
      woken++;
      await waitAgain();
    };
    void waitAgain();
    wakeUp.notify();
    await new Promise((resolve) => setImmediate(resolve));
    expect(woken).toBe(1);
  });

  it('ends at once when the signal aborts', async () => {
    const stop = new AbortController();
    const waiting = new WakeUp().waitAtMost(1e9, realClock, stop.signal);
    stop.abort();
    await waiting;
    await new WakeUp().waitAtMost(1e9, realClock, stopped);
  });
});

describe('until aborted', () => {
  it('is what the promise comes to', async () => {
    expect(await untilAborted(Promise.resolve(1), signal)).toBe(1);
    await expect(untilAborted(Promise.reject(new Error('fault')), signal)).rejects.toThrow('fault');
  });

  it('rejects with the reason once the signal aborts, or has', async () => {
    const stop = new AbortController();
    const waiting = untilAborted(never, stop.signal);
    stop.abort(new Error('told to stop'));
    await expect(waiting).rejects.toThrow('told to stop');
    await expect(untilAborted(never, stopped)).rejects.toThrow('told to stop');
    await Promise.all([aborted(stop.signal), aborted(stopped)]);
  });

  it('hears of no fault that comes after it has given up', async () => {
    await expect(untilAborted(Promise.reject(new Error('late')), stopped)).rejects.toThrow('told to stop');
  });
});

describe('settled within', () => {
  it('ends with the promise, whatever it comes to', async () => {
    await settledWithin(Promise.resolve(), 1e9);
    await settledWithin(Promise.reject(new Error('fault')), 1e9);
  });

  it('ends after the time', async () => {
    const clock = new SteppingClock();
    await settledWithin(never, 2_000, clock);
    expect(clock.slept).toEqual([2_000]);
  });
});

function scene(...outcomes: (Error | string)[]) {
  const said: string[] = [];
  const say = (message: string) => void said.push(message);
  const clock = new SteppingClock();
  const stop = new AbortController();
  let attempts = 0;
  const attempt = async () => {
    const outcome = outcomes[attempts++]!;
    if (outcome instanceof Error) throw outcome;
    return outcome;
  };
  const deps = { clock, log: { info: say, warn: say, error: say }, signal: stop.signal };
  return { said, clock, stop, attempts: () => attempts, run: () => retryLogged('compare views', attempt, deps) };
}

it('each new reason of a failure is logged once, and the success after it', async () => {
  const { said, run } = scene(new Error('away'), new Error('away'), new Error('loading'), 'done');
  expect(await run()).toBe('done');
  expect(said).toEqual([
    'Cannot compare views, trying again: away',
    'Cannot compare views, trying again: loading',
    'It could compare views now',
  ]);
});

it('nothing is logged of a first attempt that succeeds', async () => {
  const { said, clock, run } = scene('done');
  expect(await run()).toBe('done');
  expect([said, clock.slept]).toEqual([[], []]);
});

it('an error that says not to retry is thrown', async () => {
  const { clock, run } = scene(Object.assign(new Error('unfit'), { retry: false }));
  await expect(run()).rejects.toThrow('unfit');
  expect(clock.slept).toEqual([]);
});

it('nothing is attempted once told to stop', async () => {
  const { stop, attempts, run } = scene('done');
  stop.abort();
  expect(await run()).toBeNull();
  expect(attempts()).toBe(0);
});
