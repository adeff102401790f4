import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { needProgram } from '../../infra/local/debian-packages.ts';
import { freePorts } from '../../infra/local/free-port.ts';
import { type LocalProcess, startLocalProcess } from '../../infra/local/local-process.ts';
import { dashboardQueries } from '../support/processes/metrics.ts';
import { type Env, Processes, type RunningService } from '../support/processes/process.ts';
import { freshKeyPrefix, freshTopicPrefix, kafkaBrokers, redisUrl } from '../support/servers/backends.ts';

// A real Prometheus scrapes real projectors and APIs of two installations, with the rules of infra/deploy/alerts.yaml.

const processes = new Processes();
const rules = fileURLToPath(new URL('../../infra/deploy/alerts.yaml', import.meta.url));
const cities = ['berlin', 'hamburg'] as const;
type City = (typeof cities)[number];
interface Installation {
  env: Env;
  projector: RunningService;
  api: RunningService;
}
let installations: Record<City, Installation>;
let prometheus: LocalProcess;
let origin: string;
let targetsFile: string;

beforeAll(async () => {
  await needProgram('prometheus', 'prometheus', 'install Prometheus');
  const [berlin, hamburg] = await Promise.all([startInstallation(), startInstallation()]);
  installations = { berlin, hamburg };
  await Promise.all([berlin, hamburg].flatMap(({ projector, api }) => [projector.ready(), api.ready()]));
  origin = await startPrometheus();
}, 180_000);
afterAll(async () => {
  await prometheus?.end('SIGKILL');
  await processes.close();
});

async function startInstallation(): Promise<Installation> {
  const env = {
    KAFKA_BROKERS: kafkaBrokers(),
    KAFKA_TOPIC_PREFIX: freshTopicPrefix(),
    REDIS_URL: redisUrl(),
    REDIS_KEY_PREFIX: freshKeyPrefix(),
  };
  await processes.run(['topics', '--partitions', '1'], env);
  const projector = await processes.start('projector', env);
  const api = await processes.start('api', env);
  await processes.start(
    ['simulate', '--metros', '1', '--riders', '20', '--rides', '3', '--days', '3', '--rate', '20'],
    env,
  );
  return { env, projector, api };
}

async function startPrometheus(): Promise<string> {
  const folder = await processes.folder();
  targetsFile = join(folder, 'targets.json');
  await discover(cities);
  const expected = cities.flatMap((namespace) =>
    ['projector', 'api'].map((part) => ({
      record: 'ride_calendar:processes:expected',
      expr: 'vector(1)',
      labels: { namespace, part },
    })),
  );
  await writeFile(join(folder, 'installations.yaml'), JSON.stringify({ groups: [{ name: 'all', rules: expected }] }));
  const config = {
    global: { scrape_interval: '500ms', evaluation_interval: '500ms' },
    rule_files: ['installations.yaml', rules],
    scrape_configs: [
      { job_name: 'ride-calendar', file_sd_configs: [{ files: [targetsFile], refresh_interval: '500ms' }] },
    ],
  };
  await writeFile(join(folder, 'prometheus.yml'), JSON.stringify(config));
  const [port] = await freePorts(1);
  const args = ['--config.file=prometheus.yml', '--storage.tsdb.path=data', `--web.listen-address=127.0.0.1:${port}`];
  prometheus = await startLocalProcess('prometheus', args, { cwd: folder });
  return `http://127.0.0.1:${port}`;
}

/** Prometheus's targets are the processes of these installations from now on. */
async function discover(found: readonly City[]): Promise<void> {
  const targets = found.map((namespace) => {
    const { projector, api } = installations[namespace];
    return { targets: [projector, api].map((one) => new URL(one.origin).host), labels: { namespace } };
  });
  await writeFile(targetsFile, JSON.stringify(targets));
}

interface Result {
  metric: Record<string, string>;
  value: [number, string];
}

async function query(expression: string): Promise<Result[]> {
  // What Grafana puts there.
  const body = new URLSearchParams({ query: expression.replaceAll('$__rate_interval', '5s') });
  const response = await fetch(`${origin}/api/v1/query`, { method: 'POST', body });
  const answer = (await response.json()) as { status: string; error?: string; data: { result: Result[] } };
  if (answer.status !== 'success') throw new Error(`${expression}: ${answer.error}`);
  return answer.data.result;
}

test('every panel of the dashboard shows something of a running service', async () => {
  const { api } = installations.berlin;
  const queries = dashboardQueries({ cluster: '', namespace: 'berlin' });
  const empty = new Set(queries.map(({ panel, query: text }) => `${panel}: ${text}`));
  await vi.waitFor(
    async () => {
      // Days are read, a sign-in is begun.
      await fetch(`${api.api}/metros/portland/days/2026-01-01`);
      await fetch(`${api.origin}/oauth/authorize?client_id=nobody`);
      for (const { panel, query: text } of queries) {
        const found = (await query(text)).filter(({ value }) => value[1] !== 'NaN');
        if (found.length > 0) empty.delete(`${panel}: ${text}`);
      }
      expect([...empty]).toEqual([]);
    },
    { timeout: 60_000, interval: 500 },
  );
}, 90_000);

/** Alerts that fire or are about to, each with its installation. */
const firing = async (): Promise<string[]> =>
  (await query('ALERTS{alertstate=~"pending|firing"}')).map(
    ({ metric: { alertname, namespace, part } }) => `${alertname} ${[namespace, part].filter(Boolean).join(' ')}`,
  );
const ofLeading = (alerts: readonly string[]): string[] =>
  alerts.filter((one) => /^(NobodyLeads|ProcessDown|NobodyAnswers)/.test(one)).sort();
const alerted = async (wanted: readonly string[]): Promise<void> =>
  vi.waitFor(async () => expect(ofLeading(await firing())).toEqual(wanted), { timeout: 60_000, interval: 200 });

test('a killed projector is alerted on beside an installation that is well, and no more once another runs', async () => {
  const { berlin } = installations;
  await alerted([]);
  const port = new URL(berlin.projector.origin).port;
  await berlin.projector.kill();
  await alerted(['NobodyLeads berlin', 'ProcessDown berlin']);
  berlin.projector = await processes.start('projector', { ...berlin.env, PORT: port });
  await alerted([]);
}, 200_000);

test('an installation whose targets are gone is missed by the numbers that are expected', async () => {
  await discover(['hamburg']);
  await alerted(['NobodyAnswers berlin', 'ProcessDown berlin api', 'ProcessDown berlin projector']);
  await discover(cities);
  await alerted([]);
}, 150_000);
