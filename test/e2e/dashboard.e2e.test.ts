import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { dashboardQueries } from '../support/processes/metrics.ts';
import { Processes, type RunningService } from '../support/processes/process.ts';
import { startPrometheus } from '../support/processes/prometheus.ts';
import { freshKeyPrefix, freshTopicPrefix, kafkaBrokers, redisUrl } from '../support/servers/backends.ts';

// A real Prometheus scrapes a real projector and API.

const processes = new Processes();
let api: RunningService;
let prometheus: Awaited<ReturnType<typeof startPrometheus>>;

beforeAll(async () => {
  const env = {
    KAFKA_BROKERS: kafkaBrokers(),
    KAFKA_TOPIC_PREFIX: freshTopicPrefix(),
    REDIS_URL: redisUrl(),
    REDIS_KEY_PREFIX: freshKeyPrefix(),
  };
  await processes.run(['topics', '--partitions', '1'], env);
  const projector = await processes.start('projector', env);
  api = await processes.start('api', env);
  const sizes = ['--metros', '1', '--riders', '20', '--rides', '3', '--days', '3'];
  await processes.start(['simulate', ...sizes, '--rate', '20'], env);
  await Promise.all([projector.ready(), api.ready()]);
  prometheus = await startPrometheus([projector.origin, api.origin], await processes.folder(), '500ms');
}, 180_000);
afterAll(async () => {
  await prometheus?.end();
  await processes.close();
});

test('every panel of the dashboard shows something of a running service', async () => {
  const queries = dashboardQueries({ cluster: '', namespace: 'ride-calendar' });
  const empty = new Set(queries.map(({ panel, query }) => `${panel}: ${query}`));
  await vi.waitFor(
    async () => {
      // Days are read, a sign-in is begun.
      await fetch(`${api.api}/metros/portland/days/2026-01-01`);
      await fetch(`${api.origin}/oauth/authorize?client_id=nobody`);
      for (const { panel, query } of queries) {
        // What Grafana puts there.
        const found = await prometheus.query(query.replaceAll('$__rate_interval', '5s'));
        if (found.some(({ value }) => value[1] !== 'NaN')) empty.delete(`${panel}: ${query}`);
      }
      expect([...empty]).toEqual([]);
    },
    { timeout: 60_000, interval: 500 },
  );
}, 90_000);
