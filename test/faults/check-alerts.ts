import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { settleMs } from './fault-spans.ts';
import type { EventOf, Finding, Line } from './history.ts';

const rulesFile = fileURLToPath(new URL('../../infra/deploy/alerts.yaml', import.meta.url));

// As in infra/deploy/prometheus.yml.
const scrapeMs = 5_000;

/** An alert that must fire within a time, since a fault was made for it that lasts for longer than its rule waits. */
interface Expected {
  alert: string;
  from: number;
  to: number;
  why: string;
  lines: readonly number[];
}

/** For how long each alert's condition must stand, in ms. */
export async function alertWaits(): Promise<Map<string, number>> {
  const [, ...rules] = (await readFile(rulesFile, 'utf8')).split('- alert: ');
  const unitMs: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000 };
  return new Map(
    rules.map((rule) => {
      const [, length, unit] = /\bfor: (\d+)([smh])/.exec(rule) ?? ['', '0', 's'];
      return [/^\w+/.exec(rule)![0], Number(length) * unitMs[unit!]!];
    }),
  );
}

export const instanceOf = (process: string): string => process.split('+')[0]!;

/** Which alerts must fire: those that a fault was made for. */
export function expectedAlerts(
  waits: ReadonlyMap<string, number>,
  faults: readonly Line<'fault'>[],
  endMs: number,
): { expected: Expected[]; findings: Finding[] } {
  const findings: Finding[] = [];
  const expected: Expected[] = [];
  for (const { id, alert, name, at, line } of faults.filter(({ state }) => state === 'begin')) {
    if (alert === null) continue;
    const to = faults.find((each) => each.id === id && each.state === 'end')?.at ?? endMs;
    const wait = waits.get(alert);
    const says = `${name} was made for ${alert}`;
    if (wait === undefined) findings.push({ rule: 'history', says: `${says}, which is no alert`, lines: [line] });
    else if (to - at < wait)
      findings.push({ rule: 'history', says: `${says}, and ended before its rule waits`, lines: [line] });
    else expected.push({ alert, from: at, to: to + settleMs, why: says, lines: [line] });
  }
  return { expected, findings };
}

/** The scrapes as promtool reads them: each series with a value for each scrape of Prometheus from `begin` on. */
export function inputSeries(
  scrapes: readonly Line<'metrics'>[],
  { at: beginMs, wall }: EventOf<'begin'>,
  endMs: number,
): { series: string; values: string }[] {
  const slots = Math.ceil((endMs - beginMs) / scrapeMs) + 1;
  const all = new Map<string, string[]>();
  const set = (series: string, slot: number, value: number | 'stale') => {
    const values = all.get(series) ?? Array<string>(slots).fill('_');
    // Without exponents, whose sign would mean a sequence. Tests of rules begin in 1970, and so do the times that are values.
    const isTime = /^\w+_time(stamp)?_seconds/.test(series);
    values[slot] = value === 'stale' ? value : String(Number((value - (isTime ? wall / 1_000 : 0)).toFixed(6)));
    all.set(series, values);
  };
  for (const [instance, ofInstance] of Map.groupBy(scrapes, ({ process }) => instanceOf(process))) {
    const target = `instance="${instance}",job="ride-calendar"`;
    // The last scrape of each slot counts.
    const bySlot = new Map(ofInstance.map((each) => [Math.ceil((each.at - beginMs) / scrapeMs), each.values]));
    let known: string[] = [];
    for (const [slot, values] of bySlot) {
      set(`up{${target}}`, slot, values ? 1 : 0);
      const now = Object.entries(values ?? {}).map(([series, value]) => {
        const [name, labels = '}'] = series.split('{');
        return [`${name}{${target}${labels === '}' ? '' : ','}${labels}`, value] as const;
      });
      for (const series of known) set(series, slot, 'stale');
      for (const [series, value] of now) set(series, slot, value);
      known = now.map(([series]) => series);
    }
  }
  // As in infra/deploy/installations.yaml.
  const listed = ['projector', 'api'].map((part) => ({
    series: `ride_calendar:processes:expected{part="${part}"}`,
    values: `2x${slots}`,
  }));
  return [...listed, ...[...all].map(([series, values]) => ({ series, values: values.join(' ') }))];
}

/** Evaluates the alerts' rules over the scrapes, and names those that did not fire when they had to. */
export async function checkAlerts(
  expected: readonly Expected[],
  series: ReturnType<typeof inputSeries>,
  beginMs: number,
): Promise<Finding[]> {
  if (expected.length === 0) return [];
  const seconds = (ms: number): string => `${Math.ceil(ms / 1_000)}s`;
  // What is asked for ends in a comment with its number, by which the answer names it.
  const tests = expected.map(({ alert, from, to }, i) => ({
    expr: `count(max_over_time(ALERTS{alertname="${alert}",alertstate="firing"}[${seconds(to - from)}])) > bool 0 # ${i}`,
    eval_time: seconds(to - beginMs),
    exp_samples: [{ labels: '{}', value: 1 }],
  }));
  const folder = await mkdtemp(join(tmpdir(), 'alerts-'));
  try {
    const file = join(folder, 'test.json');
    const input = { interval: seconds(scrapeMs), input_series: series, promql_expr_test: tests };
    const test = { rule_files: [rulesFile], evaluation_interval: seconds(scrapeMs), tests: [input] };
    await writeFile(file, JSON.stringify(test));
    const { code, output } = await promtool('test', 'rules', file);
    const failed = new Set([...output.matchAll(/ # (\d+)", time:/g)].map(([, i]) => Number(i)));
    if (code === 0 ? !output.includes('SUCCESS') : failed.size === 0) throw new Error(`promtool test rules: ${output}`);
    return expected.flatMap(({ alert, why, lines }, i) =>
      failed.has(i) ? [{ rule: 'alert', says: `${why}, and ${alert} did not fire`, lines }] : [],
    );
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function promtool(...args: string[]): Promise<{ code: number; output: string }> {
  try {
    const { stdout, stderr } = await promisify(execFile)('promtool', args, { maxBuffer: 2 ** 26 });
    return { code: 0, output: stdout + stderr };
  } catch (error) {
    const { code, stdout = '', stderr = '' } = error as { code?: unknown; stdout?: string; stderr?: string };
    if (typeof code !== 'number') throw error;
    return { code, output: stdout + stderr };
  }
}
