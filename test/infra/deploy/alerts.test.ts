import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { needProgram } from '../../../infra/local/debian-packages.ts';
import { dashboardQueries } from '../../support/processes/metrics.ts';

const folder = fileURLToPath(new URL('../../../infra/deploy/', import.meta.url));
const rules = readFileSync(`${folder}alerts.yaml`, 'utf8');
const unitTests = readFileSync(`${folder}alerts.test.yaml`, 'utf8');
const alerts = [...rules.matchAll(/- alert: (\w+)/g)].map((match) => match[1]!);
const [head, ...tests] = unitTests.replace('[alerts.yaml]', `[${folder}alerts.yaml]`).split(/^(?= {2}- name:)/m) as [
  string,
  ...string[],
];
/** Evaluated once a minute: a sixth of the work. */
const ofMinutes = (text: string) => text.includes('\n    interval: 1m\n');
const filesOfTests = [
  [head, ...tests.filter((text) => !ofMinutes(text))],
  [head.replace('evaluation_interval: 10s', 'evaluation_interval: 1m'), ...tests.filter(ofMinutes)],
].map((texts) => texts.join(''));

/** What promtool says of files with these texts. */
async function promtool(texts: readonly string[], ...args: string[]): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'alerts-'));
  const files = texts.map((_, i) => join(dir, `${i}.yaml`));
  for (const [i, file] of files.entries()) await writeFile(file, texts[i]!);
  const said = execFileSync('promtool', [...args, ...files], { cwd: folder, encoding: 'utf8' });
  await rm(dir, { recursive: true });
  return said;
}

beforeAll(() => needProgram('promtool', 'prometheus', 'install Prometheus'), 300_000);

describe('the alerts', () => {
  it('do what their unit tests say', async () => {
    expect(await promtool([rules], 'check', 'rules')).toContain('SUCCESS');
    expect(tests.filter(ofMinutes).length).toBeGreaterThan(5);
    expect(await promtool(filesOfTests, 'test', 'rules')).toContain('SUCCESS');
  });

  it('keep installations apart: whatever is aggregated or matched is by cluster and namespace', () => {
    const grouped = [...rules.matchAll(/\b(?:by|on) \(([^)]*)\)/g)].map(([, labels]) => labels!);
    expect(grouped.length).toBeGreaterThan(30);
    expect(grouped.filter((labels) => !/^cluster, namespace\b/.test(labels))).toEqual([]);
    expect(rules).not.toMatch(/\b(?:sum|min|max|avg|count|absent|ignoring|without)\s*\(/);
  });

  it('have a unit test each, which sees it fire', () => {
    expect(alerts.length).toBeGreaterThan(10);
    const fires = new Set([...unitTests.matchAll(/alertname: (\w+)\n +exp_alerts:\n/g)].map((match) => match[1]!));
    expect(alerts.filter((alert) => !fires.has(alert))).toEqual([]);
  });

  it('link a section of docs/alerts.md each: what users see, what to look at, what fixes it', () => {
    const entries = readFileSync(`${folder}../../docs/alerts.md`, 'utf8').split(/^(?=##)/m);
    const entry = /^### (\w+)\n\n\*\*Users see\*\* [\s\S]+?\n\n\*\*Look\*\*[\s\S]+?\n\n\*\*Fix\*\*/;
    const headings = entries.flatMap((text) => entry.exec(text)?.[1] ?? []);
    const links = [...rules.matchAll(/runbook_url: '\{\{ (.+) \}\}#(\w+)'/g)];
    const runbook = 'or $externalLabels.ride_calendar_runbook "docs/alerts.md"';
    expect(new Set(links.map((link) => link[1]))).toEqual(new Set([runbook]));
    const sections = links.map((link) => link[2]!);
    expect(sections).toEqual(alerts.map((alert) => alert.toLowerCase()));
    expect(headings.map((heading) => heading.toLowerCase())).toEqual(sections);
  });
});

describe('the dashboard', () => {
  it('counts once what leader and standby both know, of the installation that is chosen', async () => {
    const series = (name: string, labels: string, leader: number, standby?: number) =>
      Object.entries({ a: leader, ...(standby !== undefined && { b: standby }) }).flatMap(([instance, value]) => [
        `{ series: 'ride_calendar_${name}{cluster="one", instance="${instance}", ${labels}}', values: '${value}' }`,
        `{ series: 'ride_calendar_${name}{cluster="two", instance="${instance}", ${labels}}', values: '${9 * value}' }`,
      ]);
    const input = [
      ...series('unresolved_rejects', 'reason="no key"', 2, 2),
      ...series('partition_end_offset', 'topic="rides", partition="0"', 100, 100),
      // What is readable only the leader says.
      ...series('partition_readable_offset', 'topic="rides", partition="0"', 93),
      ...series('partition_end_offset', 'topic="rides", partition="1"', 50, 50),
      ...series('partition_readable_offset', 'topic="rides", partition="1"', 48),
    ];
    const wanted = [
      ['Rejected records in force', '{}', 2],
      ['Rejected records in force, by reason', '{reason="no key"}', 2],
      ['Behind the log', '{topic="rides"}', 9],
    ] as const;
    const queries = dashboardQueries({ cluster: 'one', namespace: '' });
    const asked = wanted.flatMap(([panel, labels, value]) => [
      `      - expr: '${queries.find((one) => one.panel === panel)!.query}'`,
      `        exp_samples: [{ labels: '${labels}', value: ${value} }]`,
    ]);
    const test = ['  - input_series:', ...input.map((each) => `      - ${each}`), '    promql_expr_test:', ...asked];
    expect(await promtool([`tests:\n${test.join('\n')}\n`], 'test', 'rules')).toContain('SUCCESS');
  });

  it('asks for one installation in every query', () => {
    const selectors = dashboardQueries({ cluster: 'one', namespace: 'two' }).flatMap(
      ({ query }) => query.match(/\b(?:ride_calendar|process|nodejs)_\w+(?:\{[^}]*\})?/g) ?? [],
    );
    expect(selectors.length).toBeGreaterThan(30);
    expect(selectors.filter((one) => !one.includes('{cluster="one", namespace="two"'))).toEqual([]);
  });
});
