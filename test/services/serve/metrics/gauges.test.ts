import { X509Certificate } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import tzdata from 'tzdata' with { type: 'json' };
import { expect, it, vi } from 'vitest';
import { apiMetrics } from '../../../../services/serve/metrics/api-metrics.ts';
import { processMetrics } from '../../../../services/serve/metrics/process-metrics.ts';
import { makeCertificate } from '../../../support/servers/certificate.ts';

// The values of gauges that alerts look at.

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
    return (await values(register, 'ride_calendar_sign_in_state_at_risk')).map(({ value }) => value);
  };
  expect(await scrape()).toEqual([1]);
  answer = false;
  expect(await scrape()).toEqual([0]);
  answer = true;
  expect(await scrape()).toEqual([1]);
  answer = new Error('away');
  expect(await scrape()).toEqual([1]);
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
