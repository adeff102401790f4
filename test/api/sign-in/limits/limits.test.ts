import { expect, test, vi } from 'vitest';
import { addressIn, networkOf } from '../../../../api/sign-in/limits/client-address.ts';
import { lineLimit } from '../../../../api/sign-in/limits/line-limit.ts';
import { rateLimit, rateLimits } from '../../../../api/sign-in/limits/rate-limit.ts';
import { memorySignInState } from '../../../../infra/memory/memory-sign-in-state.ts';
import { realClock } from '../../../../projector/running/clock.ts';
import { callback } from '../../../support/sign-in/sign-in-flow.ts';
import { startSignInService, type TestService } from '../../../support/sign-in/sign-in-service.ts';

let service: TestService;

const by = (forwarded: string) => ({ 'x-forwarded-for': forwarded });

/** Status of a registration that a proxy at 127.0.0.1 sends on. */
async function registering(headers: Record<string, string>): Promise<number> {
  const body = JSON.stringify({ redirect_uris: [callback] });
  const request = { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body };
  const { status, headers: answered } = await fetch(`${service.app.listeningOrigin}/oauth/register`, request);
  // The hour began just now.
  if (status === 429) expect(Number(answered.get('retry-after'))).toBeGreaterThan(3_000);
  return status;
}

/** Starts a service at which an address has but one registration left. */
async function startExhausted(address: string, trustProxy?: string[]): Promise<void> {
  const store = memorySignInState();
  for (let i = 0; i < 99; i++) await rateLimits(store).registrations(address);
  service = await startSignInService({ store, ...(trustProxy && { trustProxy }) });
}

test('while no proxy is trusted, whom a request is said to be from changes nothing', async () => {
  await startExhausted('127.0.0.1');
  expect(await registering(by('203.0.113.1'))).toBe(201);
  for (const headers of [by('203.0.113.2'), { forwarded: 'for=203.0.113.3' }, { 'x-real-ip': '203.0.113.4' }])
    expect(await registering(headers)).toBe(429);
});

test('each address behind a trusted proxy has limits of its own', async () => {
  await startExhausted('203.0.113.1', ['127.0.0.1']);
  // A port beside an address is cut off.
  expect(await registering(by('203.0.113.1:1000'))).toBe(201);
  expect(await registering(by('203.0.113.1'))).toBe(429);
  for (const other of ['203.0.113.2', '2001:db8::1']) expect(await registering(by(other))).toBe(201);
  // A client that names others before itself is who the proxy says: the last one.
  expect(await registering(by('203.0.113.7, 203.0.113.1'))).toBe(429);
  // Of a chain of trusted proxies the first is asked about.
  expect(await registering(by('203.0.113.1, 127.0.0.1'))).toBe(429);
});

test('what is no address counts as the proxy itself', async () => {
  await startExhausted('127.0.0.1', ['127.0.0.1']);
  expect(await registering(by('garbage'))).toBe(201);
  for (const forwarded of ['unknown', '"203.0.113.9"']) expect(await registering(by(forwarded))).toBe(429);
});

test('documents that apps name themselves by are fetched for each address behind the proxy', async () => {
  const metadataFetch = vi.fn<typeof fetch>().mockRejectedValue(new Error('nothing there'));
  service = await startSignInService({ trustProxy: ['127.0.0.1'], metadataFetch });
  const ask = async (forwarded: string, i: number) => {
    const url = service.authorizeUrl({ client_id: `https://app-${i}.example/client.json` });
    return (await fetch(url, { headers: by(forwarded), redirect: 'manual' })).status;
  };
  // oidc-provider looks twice for a client that it does not find.
  for (let i = 0; i < 30; i++) expect(await ask('203.0.113.1', i)).toBe(400);
  expect([await ask('203.0.113.1', 60), metadataFetch.mock.calls.length]).toEqual([503, 60]);
  expect(await ask('203.0.113.2', 62)).toBe(400);
});

const https = { baseUrl: 'https://rides.example/api', who: null };
test.each([
  ['once where the service is called by https', https, [40]],
  ['never where the proxy is named', { ...https, trustProxy: ['127.0.0.1'] }, []],
  ['never where the service is called by http', {}, []],
])('of a proxy that TRUST_PROXY does not name the log warns %s', async (_, options, levels) => {
  service = await startSignInService(options);
  const warned = () => service.log.filter((line) => line.includes('TRUST_PROXY is not set'));
  await registering({});
  expect(warned()).toEqual([]);
  for (let i = 0; i < 3; i++) await registering(by('203.0.113.1'));
  expect(warned().map((line) => (JSON.parse(line) as { level: number }).level)).toEqual(levels);
  expect(warned().join()).not.toContain('203.0.113.1');
});

test.each([
  ['::FFFF:192.0.2.7', '192.0.2.7'],
  ['2001:DB8:1:2:3:4:5:6', '2001:db8:1::/48'],
  ['::1', '0:0:0::/48'],
  ['fe80::1%eth0', 'fe80:0:0::/48'],
])('the limits count %s as %s', (address, network) => expect(networkOf(address)).toBe(network));

test.each([
  ['192.0.2.7:1000', '192.0.2.7'],
  ['[2001:db8::1]:5', '2001:db8::1'],
  ['2001:db8::1', '2001:db8::1'],
  ['unknown', null],
  ['192.0.2.7:', null],
  ['192.0.2.7:1000:2', null],
])('the address in %j is %j', (text, address) => expect(addressIn(text)).toBe(address));

test('a limit for all together counts what was let through, so one network can’t use it up, and says how long to wait', async () => {
  const store = memorySignInState({ ...realClock, nowMs: () => 0 });
  const limit = rateLimit(store, 'test', { max: 10, allMax: 50, windowSeconds: 60 });
  const passed = async (address: (i: number) => string) => {
    let count = 0;
    for (let i = 0; i < 1000; i++) if ((await limit(address(i))) === null) count++;
    return count;
  };
  expect(await passed(() => '192.0.2.1')).toBe(10);
  expect(await passed((i) => `2001:db8:0:${(i % 256).toString(16)}::1`)).toBe(10);
  expect(await passed((i) => `198.51.100.${i % 250}`)).toBe(30);
  expect(await limit('203.0.113.1')).toBe(60);
});

// docs/sign-in.md#limits
test.each([
  ['authorize', 600, 6_000, 60],
  ['registrations', 100, 1_000, 3_600],
  ['documents', 60, 600, 60],
] as const)(
  'of %s %i are let through from one address, %i from all, in %i seconds',
  async (name, max, allMax, seconds) => {
    let nowMs = 0;
    const limit = rateLimits(memorySignInState({ ...realClock, nowMs: () => nowMs }))[name];
    for (let i = 1; i < allMax; i++) expect(await limit(`192.0.2.${Math.floor((i - 1) / max)}`)).toBeNull();
    // Part of a second is waited as a whole one.
    nowMs = 500;
    const waits = [await limit('192.0.2.0'), await limit('203.0.113.1'), await limit('203.0.113.1')];
    expect(waits).toEqual([seconds, null, seconds]);
  },
);

// docs/audit-trail.md
test('of each kind of log line twenty are written in a minute from its first', () => {
  let nowMs = 5;
  const mayWrite = lineLimit(() => nowMs);
  const written = (kind: string) => Array.from({ length: 30 }, () => mayWrite(kind)).filter(Boolean).length;
  expect([written('a'), written('b')]).toEqual([20, 20]);
  nowMs += 59_999;
  expect(written('a')).toBe(0);
  nowMs += 1;
  expect(written('a')).toBe(20);
});
