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
/** What a busy installation says that is well. */
const wellSeries = [
  ['ride_calendar:processes:expected{part="projector"}', '2x200'],
  ['ride_calendar:processes:expected{part="api"}', '2x200'],
  ['up{instance="a", job="ride-calendar"}', '1x200'],
  ['ride_calendar_build_info{instance="a", tz="2026c"}', '1x200'],
  ['process_start_time_seconds{instance="a"}', '0x200'],
  ['ride_calendar_role{instance="a", role="leader"}', '1x200'],
  ['ride_calendar_role{instance="b", role="leader"}', '0x200'],
  ['ride_calendar_role{instance="b", role="standby"}', '1x200'],
  ['ride_calendar_unreadable_age_seconds{instance="a"}', '0x200'],
  ['ride_calendar_waiting_seconds{instance="a", for="redis"}', '0x200'],
  ['ride_calendar_unresolved_rejects{instance="a", reason="no key"}', '0x200'],
  ['ride_calendar_timestamp_ahead_seconds{instance="a", topic="rides", partition="0"}', '0x200'],
  ['ride_calendar_log_loses_records{instance="a", topic="rides"}', '0x200'],
  ['ride_calendar_waiting_seconds{instance="a", for="rejects"}', '0x200'],
  ['ride_calendar_faulty_views_total{instance="a", kind="day"}', '0x200'],
  ['ride_calendar_reconciled_views_total{instance="a"}', '0x200'],
  ['ride_calendar_store_parts_unled{instance="x"}', '0x200'],
  ['ride_calendar_store_answers{instance="x"}', '1x200'],
  ['ride_calendar_store_answers{instance="y"}', '1x200'],
  ['ride_calendar_redis_memory_used_bytes{instance="x", store="views"}', '1x200'],
  ['ride_calendar_redis_memory_limit_bytes{instance="x", store="views"}', '1000x200'],
  ['ride_calendar_sign_in_store_answers{instance="x"}', '1x200'],
  ['ride_calendar_sign_in_state_at_risk{instance="x"}', '0x200'],
  ['ride_calendar_http_answer_seconds_count{instance="x", operation="getDay", status="200"}', '0+1000000x200'],
  [
    'ride_calendar_http_answer_seconds_bucket{instance="x", operation="getDay", status="200", le="0.1"}',
    '0+1000000x200',
  ],
  [
    'ride_calendar_http_answer_seconds_bucket{instance="x", operation="getDay", status="200", le="+Inf"}',
    '0+1000000x200',
  ],
  ['ride_calendar_certificate_expiry_timestamp_seconds{setting="NODE_EXTRA_CA_CERTS"}', '20000000x200'],
  ['ride_calendar_audit_events_total{event="replay_found", cause="code"}', '0x200'],
  ['ride_calendar_audit_events_total{event="unknown_key_used", cause="unknown_key"}', '0x200'],
].map(([series, values]) => `      - { series: '${series}', values: '${values}' }`);

const well = wellSeries.map((line) => line.replace(/\{(?=\w+=)/, '{cluster="well", '));

/** The unit tests, each beside another installation that is well. Those of minutes are evaluated once a minute: a sixth of the work. */
const [head, ...tests] = unitTests
  .replace('[alerts.yaml]', `[${folder}alerts.yaml]`)
  .replaceAll(/^ +input_series:$/gm, (line) => [line, ...well].join('\n'))
  .split(/^(?= {2}- name:)/m) as [string, ...string[]];
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
  it('do what their unit tests say, of one installation while another is well', async () => {
    expect(await promtool([rules], 'check', 'rules')).toContain('SUCCESS');
    expect(tests.filter(ofMinutes).length).toBeGreaterThan(5);
    expect(await promtool(filesOfTests, 'test', 'rules')).toContain('SUCCESS');
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
