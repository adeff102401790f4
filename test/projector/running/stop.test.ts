import { getEventListeners } from 'node:events';
import { describe, expect, it, vi } from 'vitest';
import { realClock } from '../../../projector/running/clock.ts';
import { race, Stop, wait, within } from '../../../projector/running/stop.ts';
import { BackOff, settledWithin, WakeUp } from '../../../projector/running/waiting.ts';

const stageOf = ({ signal, ended }: Stop) => (ended.aborted ? 'ended' : signal.aborted ? 'stopping' : 'running');

const never = new Promise<never>(() => {});
const listeners = (signal: AbortSignal): number => getEventListeners(signal, 'abort').length;
const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;

describe('a stop', () => {
  it('is running, stopping, ended: what is in hand is finished for a while at most', async () => {
    const parent = new Stop();
    const stop = new Stop([parent.signal], { finishMs: 20 });
    expect([stageOf(stop), stop.signal.aborted, stop.ended.aborted]).toEqual(['running', false, false]);
    parent.stop('told');
    expect([stageOf(stop), stop.signal.reason, stop.ended.aborted]).toEqual(['stopping', 'told', false]);
    await wait(stop.ended);
    expect([stageOf(stop), stop.ended.reason]).toEqual(['ended', 'told']);
    // What is finished sooner ends it sooner, and without a time to finish it ends at once.
    const sooner = new Stop([parent.signal], { finishMs: 1e9 });
    expect(stageOf(sooner)).toBe('stopping');
    sooner.end();
    expect([stageOf(sooner), stageOf(new Stop([undefined, parent.signal])), stageOf(parent)]).toEqual(
      Array(3).fill('ended'),
    );
  });

  it('leaves the signals that it is after once it is told, by whomever', () => {
    const [one, two] = [new Stop(), new Stop()];
    const stop = new Stop([one.signal, two.signal], { finishMs: 1e9 });
    expect([listeners(one.signal), listeners(two.signal)]).toEqual([1, 1]);
    one.stop();
    expect(listeners(two.signal)).toBe(0);
    stop.end();
  });
});

// Each waits once, and is over though the signal goes on.
const waits: Record<string, (signal: AbortSignal, long: Promise<void>) => Promise<unknown>> = {
  'wait for a promise': (signal, long) => wait(signal, long, Promise.resolve()),
  'race a fault': (signal, long) => race(signal, long, Promise.reject(new Error('a fault'))).catch(() => {}),
  'race without a signal': (_, long) => race(null, long, Promise.resolve()),
  'lose a race': (signal, long) => {
    const stop = new Stop([signal]);
    stop.end();
    return race(stop.signal, long).catch(() => {});
  },
  'work within a time': (signal) => within(1e9, async () => {}, signal),
  'settle within a time': () => settledWithin(Promise.resolve(), 1e9),
  'back off': (signal) => new BackOff({ minMs: 0, maxMs: 0 }, realClock).pause(signal),
  'a stop with time to finish': async (signal) => {
    const stop = new Stop([signal], { finishMs: 1e9 });
    stop.stop();
    stop.end();
  },
  'a wake-up': async (signal) => {
    const wakeUp = new WakeUp();
    const waiting = [wakeUp.wait(signal), wakeUp.waitAtMost(1e9, realClock, signal)];
    wakeUp.notify();
    await Promise.all(waiting);
  },
};

it.each(Object.entries(waits))('who waits in a loop leaves nothing behind: %s', async (_, once) => {
  const { signal } = new Stop();
  const long = new Promise<void>(() => {});
  const then = vi.spyOn(long, 'then');
  const before = timers();
  for (let i = 0; i < 1_000; i++) await once(signal, long);
  // A promise keeps all who ever awaited it: it is awaited at most once.
  expect([listeners(signal), timers() > before, then.mock.calls.length > 1]).toEqual([0, false, false]);
});

it('a race is what its first promise comes to, also of those that many race with', async () => {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const { signal } = new Stop();
  const races = [race(signal, promise), race(null, never, promise), race(signal, Promise.resolve(1), promise)];
  expect(await races[2]).toBe(1);
  resolve(2);
  expect(await Promise.all(races)).toEqual([2, 2, 1]);
  reject(new Error('too late'));
  expect(await race(signal, promise)).toBe(2);
});

it('work within a time hears of its end, and of being told to stop', async () => {
  const told = (ms: number, signal: AbortSignal) => within(ms, (late) => race(late, never), signal).catch(String);
  expect(await told(1, new Stop().signal)).toBe('Error: no answer within 1 ms');
  const stop = new Stop();
  const working = told(1e9, stop.signal);
  stop.stop(new Error('told to stop'));
  expect(await working).toBe('Error: told to stop');
});
