import type { Settings } from './settings/settings.ts';
import { openEventLog } from './wiring/backends/event-log.ts';
import { openViewStore } from './wiring/backends/view-store.ts';
import { type ExitCode, type Io, needStoreAndLog } from './wiring/command/io.ts';
import { makeLogger } from './wiring/command/logger.ts';
import { assertCanListen, listen, operatorsAt, stopListening } from './wiring/http/listen.ts';
import { operatorApp } from './wiring/http/operator-routes.ts';
import { processMetrics } from './wiring/http/process-metrics.ts';
import { projectorReadiness, untilStopped } from './wiring/http/readiness.ts';
import { project } from './wiring/projector/project.ts';
import { projectorMetrics } from './wiring/projector/projector-metrics.ts';

/** `ride-calendar projector`: folds the log into views in Redis. Its port serves /healthz, /readyz and /metrics. */
export async function runProjector({ json }: { json?: boolean }, settings: Settings, io: Io): Promise<ExitCode> {
  needStoreAndLog(settings, 'projector', 'give one event log');
  const log = makeLogger(settings);
  const register = processMetrics(log);
  const metrics = projectorMetrics(register);
  const { signal } = io;
  // Checked before it leads: a projector that cannot run must not replace another.
  const at = operatorsAt(settings) ?? settings;
  await assertCanListen(at);
  const opened = await openEventLog(settings, log, metrics.kafkaAnswered);
  const store = openViewStore(settings);
  const projecting = await project(opened, store, metrics.projector, log, signal);
  metrics.watch(() => projecting.current());
  const readiness = projectorReadiness(() => projecting.current());
  const app = operatorApp(register, untilStopped(readiness, signal), log);
  await listen(app, at);
  if (json) io.out(JSON.stringify({ log: opened.where, store: store.where }));
  else log.info(`Projecting ${opened.where} into ${store.where}`);
  try {
    await projecting.done;
  } finally {
    await stopListening(app);
  }
  return 0;
}
