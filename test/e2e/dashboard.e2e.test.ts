import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { dashboardQueries } from '../support/processes/metrics.ts';
import { Processes, type RunningService } from '../support/processes/process.ts';
import { startPrometheus } from '../support/processes/prometheus.ts';
import { freshKeyPrefix, freshTopicPrefix, kafkaBrokers, redisUrl } from '../support/servers/backends.ts';
import { makeCertificate } from '../support/servers/certificate.ts';

// A real Prometheus scrapes a real projector and API: the dashboard, and the series that the alerts' unit tests have.

const processes = new Processes();
let projector: RunningService;
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
  const folder = await processes.folder();
  const NODE_EXTRA_CA_CERTS = join(folder, 'authority.pem');
  await writeFile(NODE_EXTRA_CA_CERTS, makeCertificate(['a.example'], 90).cert);
  projector = await processes.start('projector', env);
  api = await processes.start('api', { ...env, AUTH_REDIS_URL: redisUrl(), NODE_EXTRA_CA_CERTS });
  const sizes = ['--metros', '1', '--riders', '20', '--rides', '3', '--days', '3'];
  await processes.start(['simulate', ...sizes, '--rate', '20'], env);
  await Promise.all([projector.ready(), api.ready()]);
  prometheus = await startPrometheus([projector.origin, api.origin], folder, '500ms');
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
    { timeout: 60_000, interval: 1_000 },
  );
}, 90_000);

const unitTests = readFileSync(new URL('../../infra/deploy/alerts.test.yaml', import.meta.url), 'utf8');

// Any value of these may come.
const valueLabels = ['commit', 'partition', 'status', 'tz', 'version', 'generation'];
const targetLabels = ['instance', 'job', 'cluster', 'namespace'];

/** A series as text without what Prometheus adds. */
function seriesOf([, name, labels = '']: readonly (string | undefined)[]): string {
  const known = [...labels.matchAll(/(\w+)="([^"]*)"/g)].filter(([, label]) => !targetLabels.includes(label!));
  return `${name} ${known
    .map(([, label, value]) => (valueLabels.includes(label!) ? label : `${label}=${value}`))
    .sort()
    .join(' ')}`;
}

test('the unit tests of the alerts take their series from those that processes have', async () => {
  const texts = await Promise.all(
    [projector, api].map(async ({ origin }) => (await fetch(`${origin}/metrics`)).text()),
  );
  const exported = new Set([...texts.join('\n').matchAll(/^(\w+)(?:\{(.*)\})? \S+$/gm)].map(seriesOf));
  // Of Prometheus, of infra/deploy/systemd/backup.sh, and of kube-state-metrics.
  const ofOthers = /^(up|ride_calendar_backup_timestamp_seconds|kube_cronjob_status_last_successful_time) /;
  const tested = [...unitTests.matchAll(/series: '(\w+)(?:\{(.*)\})?'/g)].map(seriesOf);
  expect(tested.length).toBeGreaterThan(30);
  expect([...new Set(tested)].filter((series) => !exported.has(series) && !ofOthers.test(series))).toEqual([]);
});
