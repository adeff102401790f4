import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { needProgram } from '../../../infra/local/debian-packages.ts';
import { dashboardQueries } from '../../support/processes/metrics.ts';
import { testFolder } from '../../support/processes/test-folder.ts';

const made = testFolder();
const folder = fileURLToPath(new URL('../../../infra/deploy/', import.meta.url));
const rules = readFileSync(`${folder}alerts.yaml`, 'utf8');
const unitTests = readFileSync(`${folder}alerts.test.yaml`, 'utf8');
const alerts = [...rules.matchAll(/- alert: (\w+)/g)].map((match) => match[1]!);
const [head = '', ...tests] = unitTests.replace('[alerts.yaml]', `[${folder}alerts.yaml]`).split(/^(?= {2}- name:)/m);
const index = readFileSync(`${folder}../../docs/alerts.md`, 'utf8');

/** Where a process that is well says 0, what counts is the most that any says: each test has one beside each series. */
const oneOfAll = [...rules.matchAll(/\b(?:max|min) by \([^)]*\)\s*\((ride_calendar_\w+)/g)].map(([, name]) => name!);
const counted = new Set(oneOfAll.filter((name) => !/_(answers|timestamp_seconds)$/.test(name)));
function withOneThatIsWell(test: string): string {
  const given = new Set<string>();
  return test.replace(/^( +- \{ series: ')(\w+)\{instance="\w+"(.*\}', values: ').*/gm, (line, start, name, labels) => {
    const isGiven = given.has(name + labels);
    given.add(name + labels);
    return isGiven || !counted.has(name) ? line : `${line}\n${start}${name}{instance="well"${labels}0x200' }`;
  });
}

beforeAll(() => needProgram('promtool', 'prometheus', 'install Prometheus'), 300_000);

describe('the alerts', () => {
  it('do what their unit tests say', async () => {
    const promtool = (...args: string[]) => execFileSync('promtool', args, { cwd: folder, encoding: 'utf8' });
    expect(promtool('check', 'rules', 'alerts.yaml')).toContain('SUCCESS');
    // Those of minutes are evaluated once a minute: a sixth of the work.
    for (const [interval, some] of Object.entries(Object.groupBy(tests, (text) => /interval: (\w+)/.exec(text)![1]!))) {
      const file = join(made, `${interval}.yaml`);
      const text = [head.replace('interval: 10s', `interval: ${interval}`), ...some!.map(withOneThatIsWell)];
      await writeFile(file, text.join(''));
      expect(promtool('test', 'rules', file)).toContain('SUCCESS');
    }
  });

  it('keep installations apart: whatever is aggregated or matched is by cluster and namespace', () => {
    const grouped = [...rules.matchAll(/\b(?:by|on) \(([^)]*)\)/g)].map(([, labels]) => labels!);
    expect(grouped.length).toBeGreaterThan(30);
    expect(grouped.filter((labels) => !/^cluster, namespace\b/.test(labels))).toEqual([]);
    expect(rules).not.toMatch(/\b(?:sum|min|max|avg|count|absent|ignoring|without)\s*\(/);
  });

  // Thresholds, spans and how long they last, as whoever is woken up reads them.
  it('stand in the index of docs/alerts.md with their numbers', () => {
    const seconds = { s: 1, min: 60, m: 60, h: 3600, day: 86_400, days: 86_400 } as Record<string, number>;
    const said = (text: string) =>
      new Set(
        [...text.matchAll(/([<>]|\bin|\[) ?([\d.]+)(?: \* (\d+)|(%)| ?(s|min|m|h|days?)\b)?/g)].map(
          ([, sign, number, times = 1, percent, unit]) => {
            const value = (Number(number) * Number(times) * (seconds[unit!] ?? 1)) / (percent ? 100 : 1);
            return `${/[<>]/.test(sign!) ? sign : 'in'} ${value}`;
          },
        ),
      );
    const row = /^\| \[(\w+)\]\(#\w+\) \| (\w+) \| (.+) \| (.+) \| (?:\d\d\w\w|tests|no) \|$/gm;
    const inIndex = [...index.matchAll(row)].map(([, alert, severity, threshold, lasts]) => [
      ...[alert, severity, said(threshold!), lasts],
    ]);
    const spelt = (text = '–') => text.replace(/m$/, 'min').replace(/(?<=\d)(?=[a-z])/, ' ');
    const inRules = rules
      .split(/^(?= +- alert:)/m)
      .slice(1)
      .map((rule) => {
        const [, alert, expression, lasts] = /alert: (\w+)[\s\S]*?expr:([\s\S]*?)(?:\n +for: (\w+))?\n +labels/.exec(
          rule,
        )!;
        return [alert, /severity: (\w+)/.exec(rule)![1], said(expression!), spelt(lasts)];
      });
    expect(inIndex).toEqual(inRules);
  });

  it('have a unit test each, which sees it fire', () => {
    expect(alerts.length).toBeGreaterThan(10);
    const fires = new Set([...unitTests.matchAll(/alertname: (\w+)\n +exp_alerts:\n/g)].map((match) => match[1]!));
    expect(alerts.filter((alert) => !fires.has(alert))).toEqual([]);
  });

  it('link a section of docs/alerts.md each: what users see, what to look at, what fixes it', () => {
    const entries = index.split(/^(?=##)/m);
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

it('the dashboard asks for one installation in every query', () => {
  const selectors = dashboardQueries({ cluster: 'one', namespace: 'two' }).flatMap(
    ({ query }) => query.match(/\b(?:ride_calendar|process|nodejs)_\w+(?:\{[^}]*\})?/g) ?? [],
  );
  expect(selectors.length).toBeGreaterThan(30);
  expect(selectors.filter((one) => !one.includes('{cluster="one", namespace="two"'))).toEqual([]);
});
