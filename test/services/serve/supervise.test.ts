import { expect, it } from 'vitest';
import type { Projector } from '../../../projector/projector.ts';
import type { Projecting } from '../../../services/serve/project.ts';
import { supervise } from '../../../services/serve/supervise.ts';
import { SteppingClock } from '../../support/stores/stepping-clock.ts';

/** Projectors that end when told, over a store that is complete or not. */
function scene({ complete = true } = {}) {
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
    reader: { ready: async () => (complete ? ({ ready: true } as const) : { ready: false as const, reason: 'empty' }) },
    log: { info: say, warn: say, error: say },
    signal: new AbortController().signal,
    clock,
  };
  const supervised = async (other = options.begin) => supervise(await options.begin(), { ...options, begin: other });
  return { said, waits: clock.slept, running, options, supervised };
}

it('a projector that ends beside complete views, or cannot be opened, is begun again, ever more slowly, until it ran for longer than the longest pause', async () => {
  const { running, said, waits, options, supervised } = scene();
  let refusals = 2;
  const kept = await supervised(async () => {
    if (running.length === 3 && refusals-- > 0) throw new Error('no such folder');
    return options.begin();
  });
  const troubles = [];
  for (const i of [0, 1, 2, 3, 4, 5, 6]) {
    if (i === 6) await options.clock.sleep(60_001);
    running[i]!.end(new Error('no topics'));
    await expect.poll(() => running.length).toBe(i + 2);
    troubles.push(kept.trouble());
  }
  const later = [...[16, 32, 60, 60].map((s) => s * 1_000), 60_001, 1_000];
  expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, ...later]);
  expect(said[0]).toMatch(/^The projector has ended: no topics\. Reads go on .*; trying again in 1 s$/);
  expect([...new Set(troubles)]).toEqual(['no topics', 'no such folder']);
  running[7]!.ready = true;
  expect(kept.trouble()).toBeNull();
  running[7]!.end();
  await kept.done;
});

it('a projector that ends with nothing to serve ends the process', async () => {
  const { running, waits, supervised } = scene({ complete: false });
  const kept = await supervised();
  running[0]!.end(new Error('no topics'));
  await expect(kept.done).rejects.toThrow('no topics');
  // A reader that is new has to connect first.
  expect(waits).toEqual([2_000]);
});
