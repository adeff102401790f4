import { wait } from '../../projector/running/stop.ts';
import { openViewStore } from '../backends/open-view-store.ts';
import type { Run } from '../cli/commands.ts';
import { needRedis } from '../cli/io.ts';
import { SettingsError } from '../settings/settings.ts';
import { loadSignInFiles } from '../settings/sign-in-files.ts';
import { assertCanListenOnAll } from './http/listen.ts';
import { serve } from './http/serve.ts';
import { apiMetrics } from './metrics/api-metrics.ts';
import { processMetrics } from './metrics/process-metrics.ts';

/** `ride-calendar api`: the read API and the authorization server, over another process's views. */
export const runApi: Run = async ({ json }, settings, io) => {
  needRedis(settings, 'api');
  if (settings.calendarPage)
    throw new SettingsError([
      'Cannot use setting CALENDAR_PAGE: the page lists the metros, which only a process that reads the log knows; run the command start with it, and leave it out here',
    ]);
  const { log, signal } = io;
  const metrics = apiMetrics(processMetrics(log));
  const files = await loadSignInFiles(settings);
  await assertCanListenOnAll(settings);
  const reader = openViewStore(settings).reader();
  const served = await serve({ settings, reader, metrics, log, files, signal });
  await served.listen();
  if (json) io.out(JSON.stringify({ baseUrl: settings.baseUrl }));
  else log.info(`Serving ${settings.baseUrl}`);
  await wait(signal);
  await served.close();
  return 0;
};
