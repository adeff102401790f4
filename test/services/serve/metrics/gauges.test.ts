import { X509Certificate } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { PeerCertificate } from 'node:tls';
import { Registry } from 'prom-client';
import tzdata from 'tzdata' with { type: 'json' };
import { expect, it, onTestFinished, vi } from 'vitest';
import { noting } from '../../../../infra/net/certificate-ends.ts';
import { Fold } from '../../../../projector/facts/fold.ts';
import { Intake } from '../../../../projector/intake/intake.ts';
import { PositionBarriers } from '../../../../projector/position/settled-position.ts';
import { realClock } from '../../../../projector/running/clock.ts';
import { byTopic } from '../../../../schemas/events/records.ts';
import { apiMetrics } from '../../../../services/serve/metrics/api-metrics.ts';
import { processMetrics } from '../../../../services/serve/metrics/process-metrics.ts';
import { projectorMetrics } from '../../../../services/serve/metrics/projector-metrics.ts';
import { silentLog } from '../../../support/processes/heard.ts';
import { idleStatus } from '../../../support/processes/metrics.ts';
import { testFolder } from '../../../support/processes/test-folder.ts';
import { makeCertificate } from '../../../support/servers/certificate.ts';
import { MemoryEventLog } from '../../../support/stores/memory-event-log.ts';
import { positionAt } from '../../../support/stores/placed-log.ts';
import { toLogRecord } from '../../../support/worlds/histories.ts';

// The values that alerts and the dashboard look at.

const folder = testFolder();

/** No rider has such an id: it is bad. */
const gone = { topic: 'riders', partition: 0, offset: 0, timestampMs: 0, key: 'a b', value: null } as const;

const values = async (register: Registry, name: string) => (await register.getSingleMetric(name)!.get()).values;

/** The series that a scrape shows, but for those of value 0 and the buckets of histograms. Ages are in hours: a slow machine shows the same. */
async function scraped(register: Registry): Promise<Record<string, number>> {
  const samples = (await register.metrics()).matchAll(/^ride_calendar_(.+) (\S+)$/gm);
  const shown = [...samples].map(([, series, text]) => {
    const value = Number(text);
    return [series!, /^(unreadable_age|waiting)_/.test(series!) ? Math.round(value / 3600) : value] as const;
  });
  return Object.fromEntries(shown.filter(([series, value]) => value !== 0 && !/_bucket/.test(series)));
}

it('a scrape shows what the process and its projector say then, by its labels, and of what was counted all', async () => {
  const register = new Registry();
  const api = apiMetrics(register);
  const { projector, kafkaAnswered, measure } = projectorMetrics(register);
  api.measureCache({ bytes: 700, hits: 20, misses: 3 });
  api.measureSignInStore(() => true);
  api.measureStore(async () => true);
  api.measureUnledTags(() => null);
  api.answered('getDay', 304, 0.25);
  api.read('get', 0.5);
  projector.folded('nights', 5);
  projector.rejected('rides', 'no key');
  projector.revisionRegressed('metros');
  projector.misplaced('riders', 7);
  projector.written(3, 900);
  projector.compared(11);
  projector.reconciled(2);
  projector.checkedAll(1_700_000_000_000);
  projector.faulty('day');
  projector.readable(1.5);
  projector.storeAnswered('commit', 0.125);
  kafkaAnswered('fetch', 0.75);
  const [topic, partition, end] = ['nights', 1, 9] as const;
  const sinceMs = realClock.nowMs() - 3_600_000;
  let readable: number | null = 8;
  const status = () => ({
    ...{ ...idleStatus, role: 'standby' as const, tagsInRepair: 6, partitions: [{ topic, partition, end, readable }] },
    ...{ unreadableSinceMs: sinceMs, waits: new Map([['redis' as const, sinceMs - 3_600_000]]) },
    ...{ unresolvedRejects: new Map([['key disagrees with value', 4]]), deletedFrom: new Set(['rides' as const]) },
  });
  measure(() => ({ ready: true, status }));
  const shown = {
    cache_bytes: 700,
    'cache_reads_total{result="hit"}': 20,
    'cache_reads_total{result="miss"}': 3,
    sign_in_store_answers: 1,
    store_answers: 1,
    store_parts_unled: Number.NaN,
    'http_answer_seconds_sum{operation="getDay",status="304"}': 0.25,
    'http_answer_seconds_count{operation="getDay",status="304"}': 1,
    'store_read_seconds_sum{operation="get"}': 0.5,
    'store_read_seconds_count{operation="get"}': 1,
    'read_records_total{topic="nights"}': 5,
    'rejected_records_total{topic="rides",reason="no key"}': 1,
    'revision_fell_total{topic="metros"}': 1,
    'misplaced_records_total{topic="riders"}': 7,
    written_views_total: 3,
    written_bytes_total: 900,
    compared_views_total: 11,
    reconciled_views_total: 2,
    all_checked_timestamp_seconds: 1_700_000_000,
    'faulty_views_total{kind="day"}': 1,
    freshness_seconds_sum: 1.5,
    freshness_seconds_count: 1,
    'store_write_seconds_sum{operation="commit"}': 0.125,
    'store_write_seconds_count{operation="commit"}': 1,
    'kafka_request_seconds_sum{request="fetch"}': 0.75,
    'kafka_request_seconds_count{request="fetch"}': 1,
    projector_ready: 1,
    'role{role="standby"}': 1,
    unreadable_age_seconds: 1,
    'waiting_seconds{for="redis"}': 2,
    'partition_end_offset{topic="nights",partition="1"}': 9,
    store_parts_in_repair: 6,
    'unresolved_rejects{reason="key disagrees with value"}': 4,
    'log_loses_records{topic="rides"}': 1,
  };
  expect(await scraped(register)).toEqual({ ...shown, 'partition_readable_offset{topic="nights",partition="1"}': 8 });
  readable = null;
  expect(await scraped(register)).toEqual(shown);
  // Prometheus sees an increase from 0, but not the first of a series that was not there before.
  for (const name of ['misplaced_records_total', 'faulty_views_total'])
    expect((await values(register, `ride_calendar_${name}`)).length).toBe(8);
});

it('certificate_expiry_timestamp_seconds is when the first certificate ends that had not ended at the start', async () => {
  const file = join(folder, 'bundle.pem');
  const warned: string[] = [];
  /** Other tests of this process have connected to servers. */
  const expiry = async (path: string) => {
    const register = processMetrics({ warn: (line) => void warned.push(line) }, path);
    const all = await values(register, 'ride_calendar_certificate_expiry_timestamp_seconds');
    return all.filter(({ labels }) => labels.setting === 'NODE_EXTRA_CA_CERTS').map(({ value }) => value);
  };
  const [sooner, later] = [makeCertificate(['a.example'], 2), makeCertificate(['b.example'], 90)];
  const endOf = ({ cert }: typeof sooner) => new X509Certificate(cert).validToDate.getTime() / 1000;
  await writeFile(file, `${later.cert}\n${sooner.cert}`);
  expect([await expiry(file), warned]).toEqual([[endOf(sooner)], []]);
  // A system's bundle holds some that have ended.
  vi.useFakeTimers({ now: Date.now() + 30 * 86_400_000, toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  expect(await expiry(file)).toEqual([endOf(later)]);
  expect(warned).toEqual([expect.stringMatching(/NODE_EXTRA_CA_CERTS that have ended: 1 of 2\./)]);
  await writeFile(file, sooner.cert);
  // In seconds, as those of servers.
  const shown = { valid_to: 'Jan  1 00:00:00 2100 GMT', subjectaltname: 'DNS:a.example', subject: {} };
  noting('REDIS_URL of this test').checkServerIdentity('a.example', shown as unknown as PeerCertificate);
  const all = await values(processMetrics(silentLog), 'ride_calendar_certificate_expiry_timestamp_seconds');
  const labels = { setting: 'REDIS_URL of this test' };
  expect(all).toContainEqual(expect.objectContaining({ labels, value: Date.UTC(2100) / 1000 }));
  // No value either without the setting.
  for (const path of [file, '']) expect(await expiry(path)).toEqual([]);
});

// docs/rules.md#timestamps
it('timestamp_ahead_seconds says of each partition how far its latest timestamp lies in the future, of a bad record too', async () => {
  const register = new Registry();
  const { projector: metrics } = projectorMetrics(register);
  const nowMs = Date.now();
  const [clock, log, signal] = [realClock, silentLog, new AbortController().signal];
  const barriers = new PositionBarriers(positionAt());
  const eventLog = new MemoryEventLog({ partitions: byTopic(() => 3), records: [] });
  const intake = new Intake({ fold: new Fold(), eventLog, sink: null, barriers, metrics, clock, log, signal });
  const times = [[[nowMs + 3_600_000, 5], [nowMs]], [[2n ** 63n - 1n]], [[-1, -(2n ** 63n)]]];
  for (const [partition, batches] of times.entries()) {
    for (const list of batches) {
      const records = list.map((timestampMs) => toLogRecord({ ...gone, timestampMs: timestampMs as number }));
      await intake.take({ topic: 'riders', partition, records, nextOffset: 9 });
    }
  }
  const found = await values(register, 'ride_calendar_timestamp_ahead_seconds');
  // Half an hour for a slow machine.
  const ends = [nowMs + 3_600_000, Date.parse('9999-12-31T23:59:59.999Z'), nowMs];
  expect(found.map(({ labels, value }) => [labels.partition, Math.round(value / 3600)])).toEqual(
    ends.map((endMs, partition) => [partition, Math.round((endMs - nowMs) / 3_600_000)]),
  );
});

// docs/rules.md#past
it('build_info says which time zone data the process has, and a warning that it is older than the release’s', async () => {
  const lines: string[] = [];
  const zonesOf = async (zones?: string) => {
    const register = processMetrics({ warn: (line) => void lines.push(line) }, '', zones);
    return (await values(register, 'ride_calendar_build_info'))[0]!.labels.tz;
  };
  expect([await zonesOf('2025b'), await zonesOf('none')]).toEqual(['2025b', 'none']);
  const older = (zones: string) => expect.stringContaining(`is ${zones}, older than ${tzdata.version}`);
  expect(lines.splice(0)).toEqual([older('2025b'), older('none')]);
  // The Node that comes with the packages has all that the release was tested with, or each start would warn.
  expect([await zonesOf(), await zonesOf(tzdata.version), ...lines]).toEqual([process.versions.tz, tzdata.version]);
});

it('what a store says of its memory and risk is shown as it was said last, and has no value before it said anything', async () => {
  const register = new Registry();
  const metrics = apiMetrics(register);
  let said: { usedBytes: number; atRisk: boolean } | null = null;
  const ask = async () => said ?? Promise.reject(new Error('away'));
  metrics.measureMemory({ views: async () => ({ ...(await ask()), limitBytes: 1_000 }) });
  metrics.measureSignInState(async () => (await ask()).atRisk);
  const scrape = async () => {
    const of = (name: string) => values(register, `ride_calendar_${name}`);
    const names = ['redis_memory_used_bytes', 'redis_memory_limit_bytes', 'sign_in_state_at_risk'];
    await Promise.all(names.map(of));
    await new Promise((resolve) => setImmediate(resolve));
    return Object.fromEntries(await Promise.all(names.map(async (name) => [name, await of(name)])));
  };
  const shown = (bytes: number, risk: number) => ({
    redis_memory_used_bytes: [{ labels: { store: 'views' }, value: bytes }],
    redis_memory_limit_bytes: [{ labels: { store: 'views' }, value: 1_000 }],
    sign_in_state_at_risk: [{ labels: {}, value: risk }],
  });
  expect(await scrape()).toMatchObject({ redis_memory_used_bytes: [], sign_in_state_at_risk: [{ value: 0 }] });
  said = { usedBytes: 700, atRisk: true };
  expect(await scrape()).toEqual(shown(700, 1));
  said = null;
  expect(await scrape()).toEqual(shown(700, 1));
  said = { usedBytes: 800, atRisk: false };
  expect(await scrape()).toEqual(shown(800, 0));
});
