import { expect, it } from 'vitest';
import { retryLogged } from '../../projector/retry-logged.ts';
import { SteppingClock } from '../support/stepping-clock.ts';

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
