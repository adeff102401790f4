import { aborted } from '../projector/ports/waiting.ts';
import type { Settings } from './settings/settings.ts';
import { loadSignInFiles } from './settings/sign-in-files.ts';
import { apiMetrics } from './wiring/api-metrics.ts';
import { needRedis } from './wiring/io.ts';
import { listen } from './wiring/listen.ts';
import { logReadiness } from './wiring/log-readiness.ts';
import { makeLogger } from './wiring/logger.ts';
import { registerOperatorRoutes } from './wiring/operator-routes.ts';
import { processMetrics } from './wiring/process-metrics.ts';
import { serve } from './wiring/serve.ts';
import { stopSignal } from './wiring/stop-signal.ts';
import { openViewStore } from './wiring/view-store.ts';

/** `ride-calendar api`: the read API and the authorization server, over another process's views. */
export async function runApi(settings: Settings, { json = false } = {}): Promise<void> {
  needRedis(settings, 'api');
  const log = makeLogger(settings);
  const metrics = apiMetrics(processMetrics());
  const files = await loadSignInFiles(settings);
  const signal = stopSignal();
  const reader = openViewStore(settings).reader();
  const served = await serve({ settings, reader, metrics, log, files });
  registerOperatorRoutes(served.app, metrics.register, () => reader.ready());
  await listen(served.app, settings);
  if (json) process.stdout.write(`${JSON.stringify({ baseUrl: settings.baseUrl })}\n`);
  else log.info(`Serving ${settings.baseUrl}`);
  void logReadiness(reader, log, signal);
  await aborted(signal);
  await served.close();
}
