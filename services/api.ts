import { needRedis } from './io.ts';
import { aborted, listen, stopSignal } from './listen.ts';
import { logReadiness } from './log-readiness.ts';
import { makeLogger } from './logger.ts';
import { serviceMetrics } from './metrics.ts';
import { registerOperatorRoutes } from './operator-routes.ts';
import { serve } from './serve.ts';
import type { Settings } from './settings.ts';
import { loadSignInFiles } from './sign-in-files.ts';
import { openViewStore } from './view-store.ts';

/** `ride-calendar api`: the read API and the authorization server, over another process's views. */
export async function runApi(settings: Settings, { json = false } = {}): Promise<void> {
  needRedis(settings, 'api');
  const log = makeLogger(settings);
  const metrics = serviceMetrics();
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
