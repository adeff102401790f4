import { once } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { GenerationGuard } from '../../../infra/redis/generation-guard.ts';
import type { Clock } from '../../../projector/ports/clock.ts';

/** Time stands still: a sleep lasts until its signal aborts. */
const stopped: Clock = {
  nowMs: () => 0,
  sleep: async (_ms, signal) => {
    if (!signal!.aborted) await once(signal!, 'abort');
  },
};

it('a guard that was told of a connection looks at once: it does not sleep on', async () => {
  let connected = false;
  let looks = 0;
  const look = async () => {
    looks++;
    if (!connected) throw new Error('not connected yet');
    return { fence: 'of somebody', led: null, others: [] };
  };
  const guard = new GenerationGuard(look, stopped, [0]);
  await turn();
  expect([looks, guard.current]).toEqual([1, false]);
  connected = true;
  guard.lookNow();
  await turn();
  expect([looks, guard.current]).toEqual([2, true]);
  guard.close();
});

it('a guard that is told of a connection while it looks looks once more', async () => {
  let looks = 0;
  const guard: GenerationGuard = new GenerationGuard(
    async () => {
      if (++looks === 1) {
        await turn();
        throw new Error('lost meanwhile');
      }
      return { fence: 'of somebody', led: null, others: [] };
    },
    stopped,
    [0],
  );
  guard.lookNow();
  await turn();
  await turn();
  expect([looks, guard.current]).toEqual([2, true]);
  guard.close();
});
