import type { ViewReader } from '../api/view-reader.ts';
import { openEventLog } from './event-log.ts';
import { firstDay, firstSteps, firstStepsText } from './first-steps.ts';
import { aborted, listen, stopSignal } from './listen.ts';
import { makeLogger } from './logger.ts';
import { serviceMetrics } from './metrics.ts';
import { registerOperatorRoutes } from './operator-routes.ts';
import { type Projecting, plain, project } from './project.ts';
import { liveliestRiders } from './rider-directory.ts';
import { serve } from './serve.ts';
import type { Settings } from './settings.ts';
import { openViewStore } from './view-store.ts';

/** `ride-calendar start`: projector, API and authorization server in one process. */
export async function runStart(settings: Settings, { json = false } = {}): Promise<void> {
  const log = makeLogger(settings);
  const metrics = serviceMetrics();
  const signal = stopSignal();
  const opened = await openEventLog(settings, plain(log));
  const store = openViewStore(settings);
  const reader = store.reader();
  const stop = new AbortController();
  const projecting = await project(
    settings,
    opened,
    store,
    metrics.projector,
    log,
    AbortSignal.any([signal, stop.signal]),
  );
  metrics.watchProjector(() => projecting.current().ready);
  // Its end is judged below; until then it must not count as unhandled.
  projecting.done.catch(() => {});
  const facts = () => projecting.current().fold.facts;
  try {
    await readyOrEnded(projecting, signal, settings);
    const first = firstDay(facts(), settings.nowMs ?? Date.now());
    const served = await serve({
      settings,
      reader,
      metrics,
      log,
      sampleRiders: (count) => liveliestRiders(facts(), count),
      ...(opened.sample && { sampleKey: opened.sample.developerKey }),
      ...(settings.embedded && first && { sample: first }),
    });
    registerOperatorRoutes(served.app, metrics.register, () => reader.ready());
    await listen(served.app, settings);
    const steps = await firstSteps(settings, opened.where, facts(), opened.sample);
    process.stdout.write(`${json ? JSON.stringify(steps) : firstStepsText(steps)}\n`);
    await endOf(projecting, reader, signal, (message) => log.error(message));
    await served.close();
  } finally {
    stop.abort();
    await projecting.done.catch(() => {});
  }
}

/** In the embedded default the first request should find something: wait for the views, which takes a moment. */
async function readyOrEnded(projecting: Projecting, signal: AbortSignal, settings: Settings): Promise<void> {
  if (!settings.embedded) return;
  let ended = false;
  const done = projecting.done.finally(() => {
    ended = true;
  });
  done.catch(() => {});
  while (!projecting.current().ready && !ended && !signal.aborted)
    await new Promise((resolve) => setTimeout(resolve, 10));
  if (ended) await done;
}

/** Ends with the process. Complete views are served on when the projector ends; else the process ends with it. */
async function endOf(
  projecting: Projecting,
  reader: ViewReader,
  signal: AbortSignal,
  say: (message: string) => void,
): Promise<void> {
  try {
    await projecting.done;
  } catch (cause) {
    if (!(await reader.ready()).ready) throw cause;
    say(`The projector has ended, reads go on from the views as they are: ${(cause as Error).message}`);
    process.exitCode = 1;
    await aborted(signal);
  }
}
