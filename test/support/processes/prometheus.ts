import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { needProgram } from '../../../infra/local/debian-packages.ts';
import { freePorts } from '../../../infra/local/free-port.ts';
import { startLocalProcess } from '../../../infra/local/local-process.ts';

const deployed = (name: string): string => fileURLToPath(new URL(`../../../infra/deploy/${name}`, import.meta.url));

export interface Series {
  metric: Record<string, string>;
  value: [atSeconds: number, value: string];
}

/** A Prometheus that scrapes these origins as one installation, with the rules of infra/deploy, and keeps its data in a folder. */
export async function startPrometheus(origins: readonly string[], folder: string, every: '500ms' | '5s') {
  await needProgram('prometheus', 'prometheus', 'install Prometheus');
  const targets = origins.map((origin) => new URL(origin).host);
  const config = {
    global: { scrape_interval: every, evaluation_interval: every },
    rule_files: [deployed('installations.yaml'), deployed('alerts.yaml')],
    scrape_configs: [
      { job_name: 'ride-calendar', static_configs: [{ targets, labels: { namespace: 'ride-calendar' } }] },
    ],
  };
  await writeFile(join(folder, 'prometheus.yml'), JSON.stringify(config));
  const [port] = await freePorts(1);
  const args = ['--config.file=prometheus.yml', '--storage.tsdb.path=data', `--web.listen-address=127.0.0.1:${port}`];
  const running = await startLocalProcess('prometheus', args, { cwd: folder });
  return {
    async query(expression: string): Promise<Series[]> {
      const body = new URLSearchParams({ query: expression });
      const response = await fetch(`http://127.0.0.1:${port}/api/v1/query`, { method: 'POST', body });
      const answer = (await response.json()) as { status: string; error?: string; data: { result: Series[] } };
      if (answer.status !== 'success') throw new Error(`${expression}: ${answer.error}`);
      return answer.data.result;
    },
    end: () => running.end('SIGKILL'),
  };
}
