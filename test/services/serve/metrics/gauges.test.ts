import { X509Certificate } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { apiMetrics } from '../../../../services/serve/metrics/api-metrics.ts';
import { processMetrics } from '../../../../services/serve/metrics/process-metrics.ts';
import { makeCertificate } from '../../../support/servers/certificate.ts';

// The values of gauges that alerts look at.

const values = async (register: Registry, name: string) => (await register.getSingleMetric(name)!.get()).values;

describe('ride_calendar_certificate_expiry_timestamp_seconds', () => {
  const name = 'ride_calendar_certificate_expiry_timestamp_seconds';
  let folder: string;
  let warned: string[];
  const log = { warn: (line: string) => void warned.push(line) };
  beforeEach(async () => {
    warned = [];
    folder = await mkdtemp(join(tmpdir(), 'gauges-'));
  });
  afterEach(() => {
    vi.useRealTimers();
    return rm(folder, { recursive: true });
  });

  it('is when the first certificate of the file ends', async () => {
    const [sooner, later] = [makeCertificate(['a.example'], 2), makeCertificate(['b.example'], 90)];
    const file = join(folder, 'authorities.pem');
    await writeFile(file, `${later.cert}\n${sooner.cert}`);
    const endsMs = new X509Certificate(sooner.cert).validToDate.getTime();
    expect(Math.abs(endsMs - Date.now() - 2 * 86_400_000)).toBeLessThan(60_000);
    expect(await values(processMetrics(log, file), name)).toEqual([
      { value: endsMs / 1000, labels: { setting: 'NODE_EXTRA_CA_CERTS' } },
    ]);
    expect(warned).toEqual([]);
  });

  it('leaves out certificates that had ended at the start, with a warning: a system’s bundle holds some', async () => {
    const [ended, live] = [makeCertificate(['a.example'], 2), makeCertificate(['b.example'], 90)];
    vi.useFakeTimers({ now: Date.now() + 30 * 86_400_000, toFake: ['Date'] });
    const file = join(folder, 'bundle.pem');
    await writeFile(file, `${ended.cert}\n${live.cert}`);
    const endsMs = new X509Certificate(live.cert).validToDate.getTime();
    expect((await values(processMetrics(log, file), name)).map(({ value }) => value)).toEqual([endsMs / 1000]);
    expect(warned).toEqual([expect.stringMatching(/NODE_EXTRA_CA_CERTS that have ended: 1 of 2\./)]);
    await writeFile(file, ended.cert);
    expect(await values(processMetrics(log, file), name)).toEqual([]);
  });

  it('has no value without the setting, and for a file that is none', async () => {
    expect(await values(processMetrics(log, ''), name)).toEqual([]);
    expect(await values(processMetrics(log, folder), name)).toEqual([]);
  });
});

describe('ride_calendar_sign_in_state_at_risk', () => {
  it('is 1 while sign-in’s Redis would lose sign-ins; what it was while the store is away', async () => {
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
});

describe('ride_calendar_redis_memory_used_bytes', () => {
  it('is what each store said last, and has no value before it said anything', async () => {
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
});
