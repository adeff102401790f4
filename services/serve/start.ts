import type { ViewReader } from '../../api/ports/view-reader.ts';
import { calendarClientId } from '../../api/sign-in/clients/clients.ts';
import { realClock } from '../../projector/running/clock.ts';
import { race, Stop } from '../../projector/running/stop.ts';
import type { OpenLog } from '../backends/open-kafka.ts';
import { openViewStore } from '../backends/open-view-store.ts';
import { closing } from '../cli/closing.ts';
import type { Run } from '../cli/commands.ts';
import { loadSignInFiles } from '../settings/sign-in-files.ts';
import { checkRiderToTry, firstDay, firstSteps, firstStepsText, metrosOf, picksRiders } from './http/first-steps.ts';
import { assertCanListenOnAll } from './http/listen.ts';
import { ownKey, withKey } from './http/own-key.ts';
import { serve } from './http/serve.ts';
import { apiMetrics } from './metrics/api-metrics.ts';
import { processMetrics } from './metrics/process-metrics.ts';
import { projectorMetrics } from './metrics/projector-metrics.ts';
import { openEventLog } from './open-event-log.ts';
import { type Projecting, project } from './project.ts';
import { liveliestRiders } from './sign-in/views-rider-directory.ts';
import { supervise } from './supervise.ts';

/** `ride-calendar start`: projector, API and authorization server in one process. */
export const runStart: Run<{ rider?: string }> = async ({ json, rider }, settings, io) => {
  const { log, signal } = io;
  const register = processMetrics(log);
  const metrics = apiMetrics(register);
  const projected = projectorMetrics(register);
  // Problems with these are reported before the fold, which may take long, and before another projector is replaced.
  const files = await loadSignInFiles(settings);
  const openLog = () => openEventLog(settings, log, projected.kafkaAnswered);
  const opened = await openLog();
  await assertCanListenOnAll(settings);
  const store = openViewStore(settings);
  const reader = store.reader();
  const stop = new Stop([signal]);
  const ending = stop.signal;
  const projectFrom = (eventLog: OpenLog) => project(eventLog, store, projected.projector, log, ending);
  const begin = async () => projectFrom(await openLog());
  const projecting = supervise(await projectFrom(opened), { begin, reader, log, signal: ending });
  projected.measure(() => projecting.current());
  // Its end is handled below. Until then it must not count as an unhandled rejection.
  projecting.done.catch(() => {});
  const facts = () => projecting.current().facts;
  try {
    // Where both log and views are this process's own, the first request should find data.
    if (!settings.kafka && !settings.redis)
      await race(null, untilComplete(projecting, reader, ending), projecting.done);
    if (signal.aborted) return 0;
    if (rider !== undefined) checkRiderToTry(rider, facts(), settings, opened);
    const first = firstDay(facts(), settings.nowMs ?? Date.now());
    const picks = picksRiders(settings, opened);
    const own = picks && opened.madeUp === null ? ownKey() : null;
    const key = opened.madeUp?.developer_key ?? own;
    const calendarPage = () => ({
      baseUrl: settings.baseUrl,
      key,
      metros: metrosOf(facts()),
      clientId: picks || settings.signIn ? calendarClientId : null,
      now: settings.nowMs === null ? null : new Date(settings.nowMs).toISOString(),
    });
    const served = await serve({
      settings,
      reader: own === null ? reader : withKey(reader, own),
      metrics,
      log,
      files,
      signal,
      trouble() {
        const ended = projecting.trouble();
        if (ended !== null) return `the projector has ended: ${ended}`;
        const { troubles, notes } = projecting.current().status();
        const unreadable = troubles.length > 0 && `changes are not readable: ${troubles.join('; ')}`;
        return [unreadable, ...notes].filter(Boolean).join('; ');
      },
      ...(picks && { sampleRiders: (count: number) => liveliestRiders(facts(), count) }),
      ...(key !== null && { sampleKey: key }),
      ...(settings.embedded && first && { sample: first }),
      ...(settings.calendarPage && { calendarPage }),
    });
    await served.listen();
    const steps = await firstSteps(settings, opened, facts(), files.keys, key, first, rider);
    io.out(json ? JSON.stringify(steps) : firstStepsText(steps));
    await closing([served], () => projecting.done);
  } finally {
    stop.end();
    await projecting.done.catch(() => {});
  }
  return 0;
};

/** Waits until the view reader finds the views complete. That is a moment after the projector is ready. */
async function untilComplete(
  projecting: Projecting,
  reader: Pick<ViewReader, 'ready'>,
  signal: AbortSignal,
): Promise<void> {
  const isComplete = async () => projecting.current().ready && (await reader.ready()).ready;
  while (!signal.aborted && !(await isComplete())) await realClock.sleep(10, signal);
}
