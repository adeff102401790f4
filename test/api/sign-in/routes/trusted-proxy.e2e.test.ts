import { request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { authorizeUrl, callback } from '../../../support/sign-in/sign-in-flow.ts';
import {
  startSignInService,
  type TestService,
  type TestServiceOptions,
} from '../../../support/sign-in/sign-in-service.ts';
import { newPkce } from '../../../support/sign-in/test-browser.ts';

let service: TestService;
afterEach(() => service.close());
const start = async (trustProxy?: readonly string[], more: TestServiceOptions = {}) => {
  service = await startSignInService({ ...more, ...(trustProxy && { trustProxy }) });
  return service;
};

const registration = JSON.stringify({ redirect_uris: [callback] });

/** Status of a registration that a proxy at 127.0.0.1, or at `from`, sends on. */
async function registering(headers: Record<string, string>, from = '127.0.0.1'): Promise<number> {
  const { port } = service.app.server.address() as AddressInfo;
  return await new Promise((resolve, reject) => {
    const all = { 'content-type': 'application/json', ...headers };
    const options = {
      hostname: '127.0.0.1',
      port,
      localAddress: from,
      path: '/oauth/register',
      method: 'POST',
      headers: all,
    };
    request(options, (response) => response.resume().on('end', () => resolve(response.statusCode!)))
      .on('error', reject)
      .end(registration);
  });
}

const by = (forwarded: string) => ({ 'x-forwarded-for': forwarded });

async function exhaust(headers: Record<string, string>, from?: string): Promise<void> {
  for (let i = 0; i < 100; i++) expect(await registering(headers, from)).toBe(201);
  expect(await registering(headers, from)).toBe(429);
}

test('while no proxy is trusted, whom a request is said to be from changes nothing', async () => {
  await start();
  await exhaust(by('203.0.113.1'));
  for (const headers of [{}, by('203.0.113.2'), { forwarded: 'for=203.0.113.3' }, { 'x-real-ip': '203.0.113.4' }])
    expect(await registering(headers)).toBe(429);
});

test('each address behind a trusted proxy has limits of its own', async () => {
  await start(['127.0.0.1']);
  await exhaust(by('203.0.113.1'));
  expect(await registering(by('203.0.113.2'))).toBe(201);
  expect(await registering(by('2001:db8::1'))).toBe(201);
  // A client that names others before itself is who the proxy says: the last one.
  expect(await registering(by('203.0.113.7, 203.0.113.1'))).toBe(429);
  // Of a chain of trusted proxies the first is asked about.
  expect(await registering(by('203.0.113.1, 127.0.0.1'))).toBe(429);
  expect(await registering({})).toBe(201);
});

test('whoever connects from elsewhere is who connects, whatever they say', async () => {
  await start(['10.0.0.0/8', '127.0.0.2']);
  await exhaust(by('203.0.113.1'));
  expect(await registering(by('203.0.113.2'))).toBe(429);
  expect(await registering(by('127.0.0.2'))).toBe(429);
  expect(await registering(by('203.0.113.2'), '127.0.0.2')).toBe(201);
});

test('documents that apps name themselves by are fetched for each address behind the proxy', async () => {
  let fetched = 0;
  const never: typeof fetch = async () => {
    fetched++;
    throw new Error('nothing there');
  };
  const { origin } = await start(['127.0.0.1'], { metadataFetch: never });
  const ask = async (forwarded: string, i: number) => {
    const client = { client_id: `https://app-${i}.example/client.json` };
    return await fetch(authorizeUrl(origin, client, newPkce()), { headers: by(forwarded), redirect: 'manual' });
  };
  // oidc-provider looks twice for a client that it does not find.
  for (let i = 0; i < 30; i++) expect((await ask('203.0.113.1', i)).status).toBe(400);
  const refused = await ask('203.0.113.1', 60);
  expect([refused.status, fetched]).toEqual([503, 60]);
  await ask('203.0.113.2', 62);
  expect(fetched).toBeGreaterThan(60);
});

const warnings = () => service.log.filter((line) => line.includes('TRUST_PROXY is not set'));

test('a proxy that TRUST_PROXY does not name is warned of once, where the service is called by https', async () => {
  await start(undefined, { baseUrl: 'https://rides.example/api', who: null });
  await registering({});
  expect(warnings()).toEqual([]);
  for (let i = 0; i < 3; i++) await registering(by('203.0.113.1'));
  expect(warnings().map((line) => (JSON.parse(line) as { level: number }).level)).toEqual([40]);
  expect(warnings().join()).not.toContain('203.0.113.1');
});

test.each([
  ['a proxy that is named', ['127.0.0.1'], { baseUrl: 'https://rides.example/api', who: null }],
  ['a service that is called by http', undefined, {}],
])('of %s nothing is said', async (_, trustProxy, more) => {
  await start(trustProxy, more);
  await registering(by('203.0.113.1'));
  expect(warnings()).toEqual([]);
});
