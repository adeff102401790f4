import { openViewStore } from '../backends/open-view-store.ts';
import { closing } from '../cli/closing.ts';
import type { Run } from '../cli/commands.ts';
import { needStoreAndLog } from '../cli/io.ts';
import { assertCanListen, listen, operatorsAt, stopListening } from './http/listen.ts';
import { operatorApp } from './http/operator-routes.ts';
import { projectorReadiness, untilStopped } from './http/readiness.ts';
import { processMetrics } from './metrics/process-metrics.ts';
import { projectorMetrics } from './metrics/projector-metrics.ts';
import { openEventLog } from './open-event-log.ts';
import { project } from './project.ts';

/** `ride-calendar projector`: folds the log into views in Redis. Its port serves /healthz, /readyz and /metrics. */
export const runProjector: Run = async ({ json }, settings, io) => {
  needStoreAndLog(settings, 'projector', 'give one event log');
  const { log, signal } = io;
  const register = processMetrics(log);
  const metrics = projectorMetrics(register);
  const opened = await openEventLog(settings, log, metrics.kafkaAnswered);
  // Checked before it leads: a projector that cannot run must not replace another.
  const at = operatorsAt(settings) ?? settings;
  await assertCanListen(at);
  const store = openViewStore(settings);
  const projecting = await project(opened, store, metrics.projector, log, signal);
  metrics.measure(() => projecting.current());
  const readiness = projectorReadiness(() => projecting.current());
  const app = operatorApp(register, untilStopped(readiness, signal), log);
  await listen(app, at);
  if (json) io.out(JSON.stringify({ log: opened.where, store: store.where }));
  else log.info(`Projecting ${opened.where} into ${store.where}`);
  await closing([{ close: () => stopListening(app) }], () => projecting.done);
  return 0;
};
