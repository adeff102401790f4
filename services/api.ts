import { aborted } from '../projector/ports/waiting.ts';
import type { Settings } from './settings/settings.ts';
import { loadSignInFiles } from './settings/sign-in-files.ts';
import { openViewStore } from './wiring/backends/view-store.ts';
import { type ExitCode, type Io, needRedis } from './wiring/command/io.ts';
import { makeLogger } from './wiring/command/logger.ts';
import { apiMetrics } from './wiring/http/api-metrics.ts';
import { drain, onceReady, readyOrAwhile, untilStopped } from './wiring/http/drain.ts';
import { assertCanListenOnAll, listen } from './wiring/http/listen.ts';
import { logReadiness } from './wiring/http/log-readiness.ts';
import { operatorServer } from './wiring/http/operator-server.ts';
import { processMetrics } from './wiring/http/process-metrics.ts';
import { serve } from './wiring/http/serve.ts';
import { withSignIn } from './wiring/sign-in/sign-in-watch.ts';

/** `ride-calendar api`: the read API and the authorization server, over another process's views. */
export async function runApi({ json }: { json?: boolean }, settings: Settings, io: Io): Promise<ExitCode> {
  needRedis(settings, 'api');
  const log = makeLogger(settings);
  const metrics = apiMetrics(processMetrics());
  const files = await loadSignInFiles(settings);
  const { signal } = io;
  await assertCanListenOnAll(settings);
  const reader = openViewStore(settings).reader();
  const served = await serve({ settings, reader, metrics, log, files, draining: signal });
  const readiness = untilStopped(
    withSignIn(
      onceReady(() => reader.ready()),
      served.signInWatch,
    ),
    signal,
  );
  const operators = operatorServer(settings, served.app, metrics.register, readiness, log);
  await readyOrAwhile(reader, signal);
  await listen(served.app, settings);
  // Not before: its /readyz says that requests may come.
  await operators.listen();
  if (json) io.out(JSON.stringify({ baseUrl: settings.baseUrl }));
  else log.info(`Serving ${settings.baseUrl}`);
  void logReadiness(reader, log, signal);
  await aborted(signal);
  await drain(settings, log);
  await served.close();
  await operators.close();
  return 0;
}
