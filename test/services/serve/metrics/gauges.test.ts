import { X509Certificate } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
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
import { makeCertificate } from '../../../support/servers/certificate.ts';
import { MemoryEventLog } from '../../../support/stores/memory-event-log.ts';
import { positionAt } from '../../../support/stores/placed-log.ts';
import { toLogRecord } from '../../../support/worlds/histories.ts';

// The values of gauges that alerts look at.

/** No rider has such an id: it is bad. */
const gone = { topic: 'riders', partition: 0, offset: 0, timestampMs: 0, key: 'a b', value: null } as const;

const values = async (register: Registry, name: string) => (await register.getSingleMetric(name)!.get()).values;

it('certificate_expiry_timestamp_seconds is when the first certificate ends that had not ended at the start', async () => {
  const name = 'ride_calendar_certificate_expiry_timestamp_seconds';
  const folder = await mkdtemp(join(tmpdir(), 'gauges-'));
  const file = join(folder, 'bundle.pem');
  const warned: string[] = [];
  // Other tests of this process have connected to servers.
  const expiry = async (path: string) =>
    (await values(processMetrics({ warn: (line) => void warned.push(line) }, path), name)).filter(
      ({ labels }) => labels.setting === 'NODE_EXTRA_CA_CERTS',
    );
  const [sooner, later] = [makeCertificate(['a.example'], 2), makeCertificate(['b.example'], 90)];
  const endOf = ({ cert }: typeof sooner) => new X509Certificate(cert).validToDate.getTime() / 1000;
  try {
    await writeFile(file, `${later.cert}\n${sooner.cert}`);
    expect(await expiry(file)).toEqual([{ value: endOf(sooner), labels: { setting: 'NODE_EXTRA_CA_CERTS' } }]);
    expect(warned).toEqual([]);
    // A system's bundle holds some that have ended.
    vi.useFakeTimers({ now: Date.now() + 30 * 86_400_000, toFake: ['Date'] });
    expect((await expiry(file)).map(({ value }) => value)).toEqual([endOf(later)]);
    expect(warned).toEqual([expect.stringMatching(/NODE_EXTRA_CA_CERTS that have ended: 1 of 2\./)]);
    await writeFile(file, sooner.cert);
    // No value either without the setting, and for a file that is none.
    for (const path of [file, '', folder]) expect(await expiry(path)).toEqual([]);
  } finally {
    vi.useRealTimers();
    await rm(folder, { recursive: true });
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
  const times = [[nowMs + 3_600_000, 5], [2n ** 63n - 1n], [-1, -(2n ** 63n)]];
  for (const [partition, list] of times.entries()) {
    const records = list.map((timestampMs) => toLogRecord({ ...gone, timestampMs: timestampMs as number }));
    await intake.take({ topic: 'riders', partition, records, nextOffset: 9 });
  }
  const found = await values(register, 'ride_calendar_timestamp_ahead_seconds');
  const ends = [nowMs + 3_600_000, Date.parse('9999-12-31T23:59:59.999Z'), Date.now()];
  expect(
    found.map(({ labels, value }) => [
      labels.partition,
      Math.abs(value - (ends[Number(labels.partition)]! - Date.now()) / 1000) < 60,
    ]),
  ).toEqual([0, 1, 2].map((partition) => [partition, true]));
});

// docs/rules.md#past
it('build_info says which time zone data the process has, and a warning that it is older than the release’s', async () => {
  const warned = (zones?: string) => {
    const lines: string[] = [];
    const register = processMetrics({ warn: (line) => void lines.push(line) }, '', zones);
    return {
      lines,
      of: async () => (await values(register, 'ride_calendar_build_info')).map(({ labels }) => labels.tz),
    };
  };
  const older = warned('2025b');
  expect(older.lines).toEqual([expect.stringContaining(`is 2025b, older than ${tzdata.version}`)]);
  expect(await older.of()).toEqual(['2025b']);
  expect(warned('none').lines).toHaveLength(1);
  expect([warned(tzdata.version).lines, warned('2099a').lines]).toEqual([[], []]);
  // The Node that comes with the packages has all that the release was tested with, or each start would warn.
  expect(warned().lines).toEqual([]);
  expect(await warned().of()).toEqual([process.versions.tz]);
});

it('sign_in_state_at_risk is 1 while sign-in’s Redis would lose sign-ins; what it was while the store is away', async () => {
  const register = new Registry();
  let answer: boolean | Error = true;
  const isAtRisk = async () => {
    if (answer instanceof Error) throw answer;
    return answer;
  };
  apiMetrics(register).measureSignInState(isAtRisk);
  const scrape = async () => {
    await values(register, 'ride_calendar_sign_in_state_at_risk');
    await new Promise((resolve) => setImmediate(resolve));
    return (await values(register, 'ride_calendar_sign_in_state_at_risk'))[0]!.value;
  };
  for (const [said, shown] of [
    [true, 1],
    [false, 0],
    [true, 1],
    [new Error('away'), 1],
  ] as const) {
    answer = said;
    expect(await scrape()).toBe(shown);
  }
});

it('redis_memory_used_bytes is what each store said last, and has no value before it said anything', async () => {
  const register = new Registry();
  let usedBytes = 700;
  const away = async () => {
    throw new Error('away');
  };
  apiMetrics(register).measureMemory({ views: async () => ({ usedBytes, limitBytes: 1_000 }), 'sign-in': away });
  const scrape = async (name: string) => {
    await new Promise((resolve) => setImmediate(resolve));
    return values(register, `ride_calendar_redis_memory_${name}_bytes`);
  };
  expect(await scrape('used')).toEqual([{ labels: { store: 'views' }, value: 700 }]);
  usedBytes = 800;
  await scrape('used');
  expect(await scrape('used')).toEqual([{ labels: { store: 'views' }, value: 800 }]);
  expect(await scrape('limit')).toEqual([{ labels: { store: 'views' }, value: 1_000 }]);
});
