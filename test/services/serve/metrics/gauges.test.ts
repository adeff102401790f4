import { X509Certificate } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import tzdata from 'tzdata' with { type: 'json' };
import { expect, it, vi } from 'vitest';
import { Fold } from '../../../../projector/facts/fold.ts';
import { Intake } from '../../../../projector/intake/intake.ts';
import { PositionBarriers } from '../../../../projector/position/settled-position.ts';
import { realClock } from '../../../../projector/running/clock.ts';
import { byTopic } from '../../../../schemas/events/records.ts';
import { apiMetrics } from '../../../../services/serve/metrics/api-metrics.ts';
import { processMetrics } from '../../../../services/serve/metrics/process-metrics.ts';
import { projectorMetrics } from '../../../../services/serve/metrics/projector-metrics.ts';
import { silentLog } from '../../../support/processes/heard.ts';
import { testFolder } from '../../../support/processes/test-folder.ts';
import { makeCertificate } from '../../../support/servers/certificate.ts';
import { MemoryEventLog } from '../../../support/stores/memory-event-log.ts';
import { positionAt } from '../../../support/stores/placed-log.ts';
import { toLogRecord } from '../../../support/worlds/histories.ts';

// The values of gauges that alerts look at.

const folder = testFolder();

/** No rider has such an id: it is bad. */
const gone = { topic: 'riders', partition: 0, offset: 0, timestampMs: 0, key: 'a b', value: null } as const;

const values = async (register: Registry, name: string) => (await register.getSingleMetric(name)!.get()).values;

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
  try {
    await writeFile(file, `${later.cert}\n${sooner.cert}`);
    expect([await expiry(file), warned]).toEqual([[endOf(sooner)], []]);
    // A system's bundle holds some that have ended.
    vi.useFakeTimers({ now: Date.now() + 30 * 86_400_000, toFake: ['Date'] });
    expect(await expiry(file)).toEqual([endOf(later)]);
    expect(warned).toEqual([expect.stringMatching(/NODE_EXTRA_CA_CERTS that have ended: 1 of 2\./)]);
    await writeFile(file, sooner.cert);
    // No value either without the setting.
    for (const path of [file, '']) expect(await expiry(path)).toEqual([]);
  } finally {
    vi.useRealTimers();
  }
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
