import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { needProgram } from '../../../infra/local/debian-packages.ts';
import { dashboardQueries, metricNames } from '../../support/processes/metrics.ts';

const folder = fileURLToPath(new URL('../../../infra/deploy/', import.meta.url));
const rules = readFileSync(`${folder}alerts.yaml`, 'utf8');
const unitTests = readFileSync(`${folder}alerts.test.yaml`, 'utf8');
const alerts = [...rules.matchAll(/- alert: (\w+)/g)].map((match) => match[1]!);
/** Without what stands in quotes and what a template fills in. */
const named = (text: string): string[] => text.match(/(?<![.\w])(?:ride_calendar|process|nodejs)_\w+/g) ?? [];

describe('the alerts', () => {
  beforeAll(() => needProgram('promtool', 'prometheus', 'install Prometheus'), 300_000);

  it('do what their unit tests say', () => {
    const promtool = (...args: string[]) => execFileSync('promtool', args, { cwd: folder, encoding: 'utf8' });
    expect(promtool('check', 'rules', 'alerts.yaml')).toContain('SUCCESS');
    expect(promtool('test', 'rules', 'alerts.test.yaml')).toContain('SUCCESS');
  });

  it('have a unit test each, which sees it fire', () => {
    expect(alerts.length).toBeGreaterThan(10);
    const fires = new Set([...unitTests.matchAll(/alertname: (\w+)\n +exp_alerts:\n/g)].map((match) => match[1]!));
    expect(alerts.filter((alert) => !fires.has(alert))).toEqual([]);
  });

  it('name metrics that the processes have', async () => {
    const known = await metricNames();
    const code = rules.replaceAll(/^#.*$/gm, '');
    expect(named(code).filter((name) => !known.has(name))).toEqual([]);
  });

  it('link a section of the runbook each', () => {
    const headings = readFileSync(`${folder}../../docs/runbook.md`, 'utf8').match(/^### \w+$/gm) ?? [];
    const links = [...rules.matchAll(/runbook_url: '\{\{ (.+) \}\}#(\w+)'/g)];
    const runbook = 'or $externalLabels.ride_calendar_runbook "docs/runbook.md"';
    expect(new Set(links.map((link) => link[1]))).toEqual(new Set([runbook]));
    const sections = links.map((link) => link[2]!);
    expect(sections).toEqual(alerts.map((alert) => alert.toLowerCase()));
    expect(headings.map((heading) => heading.slice(4).toLowerCase())).toEqual(expect.arrayContaining(sections));
  });
});

describe('the dashboard', () => {
  beforeAll(() => needProgram('promtool', 'prometheus', 'install Prometheus'), 300_000);

  it('counts once what leader and standby both know', async () => {
    const series = (name: string, labels: string, leader: number, standby: number) => [
      `{ series: 'ride_calendar_${name}{instance="a", ${labels}}', values: '${leader}' }`,
      `{ series: 'ride_calendar_${name}{instance="b", ${labels}}', values: '${standby}' }`,
    ];
    const input = [
      ...series('unresolved_rejects', 'reason="no key"', 2, 2),
      ...series('partition_end_offset', 'topic="rides", partition="0"', 100, 100),
      // A standby folds up to the leader's position, and one that has just begun is far behind.
      ...series('partition_position_offset', 'topic="rides", partition="0"', 93, 10),
      ...series('partition_end_offset', 'topic="rides", partition="1"', 50, 50),
      ...series('partition_position_offset', 'topic="rides", partition="1"', 48, 0),
    ];
    const wanted = [
      ['Bad records in force', '{}', 2],
      ['Bad records in force, by reason', '{reason="no key"}', 2],
      ['Behind the log', '{topic="rides"}', 9],
    ] as const;
    const queries = dashboardQueries();
    const asked = wanted.flatMap(([panel, labels, value]) => [
      `      - expr: '${queries.find((one) => one.panel === panel)!.query}'`,
      `        exp_samples: [{ labels: '${labels}', value: ${value} }]`,
    ]);
    const file = join(await mkdtemp(join(tmpdir(), 'dashboard-')), 'dashboard.yaml');
    const tests = ['  - input_series:', ...input.map((each) => `      - ${each}`), '    promql_expr_test:', ...asked];
    await writeFile(file, `tests:\n${tests.join('\n')}\n`);
    expect(execFileSync('promtool', ['test', 'rules', file], { encoding: 'utf8' })).toContain('SUCCESS');
    await rm(dirname(file), { recursive: true });
  });

  it('names metrics that the processes have', async () => {
    const known = await metricNames();
    const used = dashboardQueries().flatMap(({ query }) => named(query));
    expect(used.length).toBeGreaterThan(30);
    expect(used.filter((name) => !known.has(name))).toEqual([]);
  });
});
