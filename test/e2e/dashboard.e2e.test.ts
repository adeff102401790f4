import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { needProgram } from '../../infra/local/debian-packages.ts';
import { freePorts } from '../../infra/local/free-port.ts';
import { type LocalProcess, startLocalProcess } from '../../infra/local/local-process.ts';
import { dashboardQueries } from '../support/processes/metrics.ts';
import { Processes, type RunningService } from '../support/processes/process.ts';
import { freshKeyPrefix, freshTopicPrefix, kafkaBrokers, redisUrl } from '../support/servers/backends.ts';

// A real Prometheus scrapes a real projector and API, with the rules of infra/deploy/alerts.yaml.

const processes = new Processes();
const rules = fileURLToPath(new URL('../../infra/deploy/alerts.yaml', import.meta.url));
const namespace = 'berlin';
let api: RunningService;
let prometheus: LocalProcess;
let origin: string;

beforeAll(async () => {
  await needProgram('prometheus', 'prometheus', 'install Prometheus');
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
  origin = await startPrometheus([projector, api]);
}, 180_000);
afterAll(async () => {
  await prometheus?.end('SIGKILL');
  await processes.close();
});

async function startPrometheus(running: readonly RunningService[]): Promise<string> {
  const folder = await processes.folder();
  const targets = running.map((one) => new URL(one.origin).host);
  const config = {
    global: { scrape_interval: '500ms', evaluation_interval: '500ms' },
    rule_files: [rules],
    scrape_configs: [{ job_name: 'ride-calendar', static_configs: [{ targets, labels: { namespace } }] }],
  };
  await writeFile(join(folder, 'prometheus.yml'), JSON.stringify(config));
  const [port] = await freePorts(1);
  const args = ['--config.file=prometheus.yml', '--storage.tsdb.path=data', `--web.listen-address=127.0.0.1:${port}`];
  prometheus = await startLocalProcess('prometheus', args, { cwd: folder });
  return `http://127.0.0.1:${port}`;
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
  const queries = dashboardQueries({ cluster: '', namespace });
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
