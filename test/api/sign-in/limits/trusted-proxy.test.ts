import { afterEach, expect, test, vi } from 'vitest';
import { rateLimits } from '../../../../api/sign-in/limits/rate-limit.ts';
import { memorySignInState } from '../../../../infra/memory/memory-sign-in-state.ts';
import { callback } from '../../../support/sign-in/sign-in-flow.ts';
import { startSignInService, type TestService } from '../../../support/sign-in/sign-in-service.ts';

let service: TestService;
afterEach(() => service.close());

const by = (forwarded: string) => ({ 'x-forwarded-for': forwarded });

/** Status of a registration that a proxy at 127.0.0.1 sends on. */
async function registering(headers: Record<string, string>): Promise<number> {
  const body = JSON.stringify({ redirect_uris: [callback] });
  const request = { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body };
  return (await fetch(`${service.app.listeningOrigin}/oauth/register`, request)).status;
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
