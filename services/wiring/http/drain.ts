import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { ViewReader } from '../../../api/ports/view-reader.ts';
import type { Settings } from '../../settings/settings.ts';
import type { Readiness } from './operator-routes.ts';

/**
 * An API that was ready once stays ready: a store that goes away later makes reads 503, but must not remove every
 * instance from a load balancer at once (docs/rules.md#ready-api). The reason why reads fail is then the note.
 */
export function onceReady(readiness: Readiness): Readiness {
  let wasReady = false;
  return async () => {
    const state = await readiness();
    wasReady ||= state.ready;
    if (state.ready || !wasReady) return state;
    return { ready: true, note: `reads get 503: ${state.reason}` };
  };
}

const connectWaitMs = 2_000;

/**
 * Waits for the view store's first answers, 2 s at most, before the process listens: a proxy that did not notice a restart
 * sends requests at once, and where the views are complete no read needs to fail.
 */
export async function readyOrAwhile(reader: Pick<ViewReader, 'ready'>, signal: AbortSignal): Promise<void> {
  const untilMs = performance.now() + connectWaitMs;
  while (!(await reader.ready()).ready && performance.now() < untilMs && !signal.aborted) await sleep(10);
}

/** A process that is told to stop must get no more requests. */
export const untilStopped =
  (readiness: Readiness, signal: AbortSignal): Readiness =>
  async () =>
    signal.aborted ? { ready: false, reason: 'the process was told to stop' } : readiness();

/** A server that was told to stop is not ready, and goes on serving until load balancers have noticed. */
export async function drain({ drainSeconds }: Settings, log: Logger): Promise<void> {
  if (drainSeconds === 0) return;
  log.info(`Told to stop: not ready any more, serving on for ${drainSeconds} s (DRAIN_SECONDS)`);
  await sleep(drainSeconds * 1000);
}
