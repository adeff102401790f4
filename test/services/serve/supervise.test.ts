import { expect, it } from 'vitest';
import type { Projector } from '../../../projector/projector.ts';
import type { Projecting } from '../../../services/serve/project.ts';
import { supervise } from '../../../services/serve/supervise.ts';
import { SteppingClock } from '../../support/stores/stepping-clock.ts';

/** Projectors that end when told, over a store that is complete or not. */
function scene({ complete = true } = {}) {
  const store = { complete };
  const stop = new AbortController();
  const said: string[] = [];
  const clock = new SteppingClock();
  const running: { ready: boolean; end(cause?: Error): void }[] = [];
  const say = (message: string) => void said.push(message);
  const options = {
    async begin(): Promise<Projecting> {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const one = { ready: false, end: (cause?: Error) => (cause ? reject(cause) : resolve()) };
      running.push(one);
      return { current: () => one as unknown as Projector, done: promise };
    },
    reader: {
      ready: async () => (store.complete ? ({ ready: true } as const) : { ready: false as const, reason: 'empty' }),
    },
    log: { info: say, warn: say, error: say },
    signal: stop.signal,
    clock,
  };
  const supervised = async (other = options.begin) => supervise(await options.begin(), { ...options, begin: other });
  return { stop, store, said, waits: clock.slept, running, options, supervised };
}

it('a projector that ends beside complete views is begun again, ever more slowly, until it can do its work', async () => {
  const { running, said, waits, supervised } = scene();
  const kept = await supervised();
  for (let i = 0; i < 8; i++) {
    await expect.poll(() => running.length).toBe(i + 1);
    running[i]!.end(new Error('no topics'));
  }
  await expect.poll(() => running.length).toBe(9);
  expect(waits).toEqual([1, 2, 4, 8, 16, 32, 60, 60].map((s) => s * 1_000));
  expect(said[0]).toBe(
    'The projector has ended: no topics. Reads go on from the views as they are; trying again in 1 s',
  );
  expect(kept.trouble()).toBe('no topics');
  running[8]!.ready = true;
  expect(kept.trouble()).toBeNull();
  running[8]!.end();
  await kept.done;
});

it('a log or a store that can not even be opened again is tried again too', async () => {
  const { running, options, supervised } = scene();
  let refusals = 2;
  const kept = await supervised(async () => {
    if (refusals-- > 0) throw new Error('no such folder');
    return options.begin();
  });
  running[0]!.end(new Error('no topics'));
  await expect.poll(() => running.length).toBe(2);
  expect(kept.trouble()).toBe('no such folder');
  running[1]!.end();
  await kept.done;
});

it('a projector that ends with nothing to serve ends the process', async () => {
  const { running, supervised } = scene({ complete: false });
  const kept = await supervised();
  running[0]!.end(new Error('no topics'));
  await expect(kept.done).rejects.toThrow('no topics');
});

it('a projector that ran for longer than the longest pause is begun again after the shortest one', async () => {
  const { running, waits, options, supervised } = scene();
  const kept = await supervised();
  for (const i of [0, 1, 2]) {
    if (i === 2) await options.clock.sleep(60_001);
    running[i]!.end(new Error('no topics'));
    await expect.poll(() => running.length).toBe(i + 2);
  }
  expect(waits).toEqual([1_000, 2_000, 60_001, 1_000]);
  running[3]!.end();
  await kept.done;
});
