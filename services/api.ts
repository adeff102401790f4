import { aborted } from '../projector/ports/waiting.ts';
import type { Settings } from './settings/settings.ts';
import { loadSignInFiles } from './settings/sign-in-files.ts';
import { openViewStore } from './wiring/backends/view-store.ts';
import { type ExitCode, type Io, needRedis } from './wiring/command/io.ts';
import { makeLogger } from './wiring/command/logger.ts';
import { apiMetrics } from './wiring/http/api-metrics.ts';
import { assertCanListenOnAll } from './wiring/http/listen.ts';
import { processMetrics } from './wiring/http/process-metrics.ts';
import { serve } from './wiring/http/serve.ts';

/** `ride-calendar api`: the read API and the authorization server, over another process's views. */
export async function runApi({ json }: { json?: boolean }, settings: Settings, io: Io): Promise<ExitCode> {
  needRedis(settings, 'api');
  const log = makeLogger(settings);
  const metrics = apiMetrics(processMetrics(log));
  const files = await loadSignInFiles(settings);
  const { signal } = io;
  await assertCanListenOnAll(settings);
  const reader = openViewStore(settings).reader();
  const served = await serve({ settings, reader, metrics, log, files, signal });
  await served.listen();
  if (json) io.out(JSON.stringify({ baseUrl: settings.baseUrl }));
  else log.info(`Serving ${settings.baseUrl}`);
  await aborted(signal);
  await served.close();
  return 0;
}
