import { readFileSync } from 'node:fs';
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { generation } from '../../infra/redis/redis-keys.ts';

// Labels of every metric are operations, statuses, topics and reasons: never ids, places or names.

/** The Prometheus metrics of every process. A projector and an API add their own. */
export function processMetrics(): Registry {
  const register = new Registry();
  collectDefaultMetrics({ register });
  new Gauge({
    name: 'ride_calendar_build_info',
    help: '1; the labels say which build runs, and in which format it keeps views',
    labelNames: ['version', 'view_format'],
    registers: [register],
  }).set({ version: packageVersion(), view_format: generation }, 1);
  return register;
}

/** From the nearest package.json: that of the checkout, or the one above the built files. */
function packageVersion(): string {
  for (const up of ['../../package.json', '../../../package.json']) {
    try {
      const { version } = JSON.parse(readFileSync(new URL(up, import.meta.url), 'utf8')) as { version?: string };
      if (version !== undefined) return version;
    } catch {
      // Not here, so it is one folder further up.
    }
  }
  return 'unknown';
}
