import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, test, vi } from 'vitest';
import { needProgram } from '../../infra/local/debian-packages.ts';
import { freePort } from '../../infra/local/free-port.ts';
import { startLocalProcess } from '../../infra/local/local-process.ts';
import { dashboardQueries } from '../support/processes/metrics.ts';
import { Processes, type RunningService } from '../support/processes/process.ts';
import { testStack } from '../support/processes/test-stack.ts';
import { freshKafka, freshRedis, redisUrl } from '../support/servers/backends.ts';
import { makeCertificate } from '../support/servers/certificate.ts';

// A real Prometheus scrapes a real projector and API: the dashboard, and the series that the alerts' unit tests have.

const deployed = (name: string): URL => new URL(`../../infra/deploy/${name}`, import.meta.url);
const open = testStack();
const processes = open.use(new Processes());
let projector: RunningService;
let api: RunningService;
let prometheus: Awaited<ReturnType<typeof startPrometheus>>;

/** A Prometheus that scrapes these origins as one installation, with the rules of infra/deploy. */
async function startPrometheus(origins: readonly string[], cwd: string) {
  await needProgram('prometheus', 'prometheus', 'install Prometheus');
  const labels = { namespace: 'ride-calendar' };
  const config = {
    global: { scrape_interval: '500ms', evaluation_interval: '500ms' },
    rule_files: ['installations.yaml', 'alerts.yaml'].map((name) => deployed(name).pathname),
    scrape_configs: [
      {
        job_name: 'ride-calendar',
        static_configs: [{ targets: origins.map((origin) => new URL(origin).host), labels }],
      },
    ],
  };
  await writeFile(join(cwd, 'prometheus.yml'), JSON.stringify(config));
  const at = `127.0.0.1:${await freePort()}`;
  const args = ['--config.file=prometheus.yml', '--storage.tsdb.path=data', `--web.listen-address=${at}`];
  open.adopt(await startLocalProcess('prometheus', args, { cwd }), (each) => each.end('SIGKILL'));
  return {
    /** The values that a query finds. */
    async query(query: string): Promise<string[]> {
      const response = await fetch(`http://${at}/api/v1/query`, {
        method: 'POST',
        body: new URLSearchParams({ query }),
      });
      const { status, error, data } = (await response.json()) as PrometheusAnswer;
      if (status !== 'success') throw new Error(`${query}: ${error}`);
      return data.result.map(({ value }) => value[1]);
    },
  };
}

interface PrometheusAnswer {
  status: string;
  error?: string;
  data: { result: { value: [atSeconds: number, value: string] }[] };
}

beforeAll(async () => {
  const env = { ...freshKafka(), ...freshRedis() };
  await processes.run(['topics', '--partitions', '1'], env);
  const folder = await processes.folder();
  const NODE_EXTRA_CA_CERTS = join(folder, 'authority.pem');
  await writeFile(NODE_EXTRA_CA_CERTS, makeCertificate(['a.example'], 90).cert);
  projector = await processes.start('projector', env);
  api = await processes.start('api', { ...env, AUTH_REDIS_URL: redisUrl(), NODE_EXTRA_CA_CERTS });
  const sizes = ['--metros', '1', '--riders', '20', '--rides', '3', '--days', '3'];
  await processes.start(['simulate', ...sizes, '--rate', '20'], env);
  await Promise.all([projector.ready(), api.ready()]);
  prometheus = await startPrometheus([projector.origin, api.origin], folder);
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
        if (found.some((value) => value !== 'NaN')) empty.delete(`${panel}: ${query}`);
      }
      expect([...empty]).toEqual([]);
    },
    { timeout: 60_000, interval: 1_000 },
  );
}, 90_000);

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
  const unitTests = readFileSync(deployed('alerts.test.yaml'), 'utf8');
  const tested = [...unitTests.matchAll(/series: '(\w+)(?:\{(.*)\})?'/g)].map(seriesOf);
  expect(tested.length).toBeGreaterThan(30);
  expect([...new Set(tested)].filter((series) => !exported.has(series) && !ofOthers.test(series))).toEqual([]);
});
