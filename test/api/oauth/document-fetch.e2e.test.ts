import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { TooManyFetchesError } from '../../../api/oauth/document-fetch.ts';
import { redisAuthState } from '../../../infra/redis/auth-state-redis.ts';
import { freshKeyPrefix, redisUrl } from '../../support/backends.ts';
import { authorizeUrl, callback, codeFor, redeem } from '../../support/sign-in-flow.ts';
import { newSigningKeys, startSignInService, type TestService, testRiders } from '../../support/sign-in-service.ts';
import { newPkce, TestBrowser } from '../../support/test-browser.ts';

const id = 'https://app.example/client.json';

test('300 loads of a pending sign-in’s page fetch a document that fails once, at all instances together', async () => {
  const [keys, riders, keyPrefix] = [await newSigningKeys(), testRiders(), freshKeyPrefix()];
  let [fetched, there] = [0, true];
  const metadataFetch: typeof fetch = async () => {
    fetched++;
    if (!there) throw new TypeError('unreachable');
    return Response.json({ client_id: id, client_name: 'App', redirect_uris: [callback] });
  };
  const start = (baseUrl?: string) => {
    const store = redisAuthState({ url: redisUrl(), keyPrefix });
    return startSignInService({ ...(baseUrl && { baseUrl }), keys, riders, store, metadataFetch });
  };
  const one = await start();
  const browser = new TestBrowser(one.origin);
  const page = await browser.open(authorizeUrl(one.origin, { client_id: id }, newPkce()));
  expect([page.response.status, fetched]).toEqual([200, 1]);

  there = false;
  const [two, three] = [await start(one.baseUrl), await start(one.baseUrl)];
  const load = async (at: TestService) => {
    const url = page.url.replace(one.origin, `http://127.0.0.1:${(at.app.server.address() as AddressInfo).port}`);
    const response = await fetch(url, { headers: { cookie: browser.cookieHeader(page.url) } });
    // The app's id stands in for its name.
    expect([response.status, (await response.text()).includes(id)]).toEqual([200, true]);
  };
  for (let i = 0; i < 300; i++) await load(i < 200 ? two : three);
  expect(fetched).toBe(2);
  for (const service of [one, two, three]) await service.close();
});

test('a document that too many ask for refuses no app its tokens for good, at the token and revocation endpoints', async () => {
  let busy = false;
  const metadataFetch: typeof fetch = async () => {
    if (busy) throw new TooManyFetchesError('too many documents are being fetched');
    return Response.json({ client_id: id, client_name: 'App', redirect_uris: [callback] });
  };
  const start = () => startSignInService({ metadataFetch });
  const service = await start();
  const client = { client_id: id };
  const { code, pkce } = await codeFor(service.origin, client);
  const { refresh_token: token } = (await redeem(service.origin, client, code, pkce.verifier)).body;
  await service.close();

  busy = true;
  // It has not seen the document yet.
  const other = await start();
  const post = async (path: string, form: Record<string, string>, headers: Record<string, string> = {}) => {
    const body = new URLSearchParams(form);
    const response = await fetch(`${other.origin}${path}`, { method: 'POST', body, headers });
    return { status: response.status, headers: response.headers, body: (await response.json()) as { error: string } };
  };
  const refreshing = { client_id: id, grant_type: 'refresh_token', refresh_token: String(token) };
  const basic = { authorization: `Basic ${Buffer.from(`${encodeURIComponent(id)}:x`).toString('base64')}` };
  for (const answer of [
    await post('/oauth/token', refreshing),
    await post('/oauth/token', { grant_type: 'refresh_token', refresh_token: String(token) }, basic),
    await post('/oauth/token', { client_id: id, grant_type: 'authorization_code', code: 'x', redirect_uri: callback }),
    await post('/oauth/revoke', { client_id: id, token: String(token) }),
  ]) {
    expect([answer.status, answer.headers.get('retry-after'), answer.body.error]).toEqual([
      429,
      '60',
      'temporarily_unavailable',
    ]);
    expect(answer.headers.get('access-control-allow-origin')).toBe('*');
    expect(answer.headers.get('www-authenticate')).toBeNull();
  }
  await other.close();
});
