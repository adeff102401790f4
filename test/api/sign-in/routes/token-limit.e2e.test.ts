import { afterEach, expect, test } from 'vitest';
import type { StateStore } from '../../../../api/ports/sign-in-state.ts';
import { rateLimits } from '../../../../api/sign-in/limits/rate-limit.ts';
import { memorySignInState } from '../../../../infra/memory/memory-sign-in-state.ts';
import { redisSignInState } from '../../../../infra/redis/sign-in/redis-sign-in-state.ts';
import { freshKeyPrefix, redisUrl } from '../../../support/servers/backends.ts';
import {
  type Client,
  callback,
  codeFor,
  redeem,
  refresh,
  register,
  tokenRequest,
} from '../../../support/sign-in/sign-in-flow.ts';
import { startSignInService, type TestService } from '../../../support/sign-in/sign-in-service.ts';

const secret = 'a-secret-of-at-least-32-characters';
const site = { client_id: 'site', client_secret: secret, redirect_uris: [callback] };
const verifier = 'v'.repeat(43);
let service: TestService;
afterEach(() => service.close());

/** Riders, apps and strangers, all by one address: as behind a proxy that TRUST_PROXY does not name. */
async function start(store: StateStore = memorySignInState()): Promise<string> {
  const clients = [{ ...site, token_endpoint_auth_method: 'client_secret_basic', application_type: 'native' }];
  service = await startSignInService({ store, clients });
  return service.origin;
}

const guess = (client: Client, i: number) => redeem(service.origin, client, `guess-${i}`.padEnd(43, 'x'), verifier);
const basic = (id: string, password: string) => ({
  authorization: `Basic ${Buffer.from(`${id}:${password}`).toString('base64')}`,
});

test('guesses at codes and tokens are limited by client, which redeems, refreshes and revokes all the same', async () => {
  const origin = await start();
  const client = await register(origin);
  const { code, pkce } = await codeFor(origin, client);
  for (let i = 0; i < 300; i++)
    expect(await guess(client, i)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
  const limited = await guess(client, 300);
  expect([limited.status, limited.body.error]).toEqual([429, 'temporarily_unavailable']);
  expect(Number(limited.headers.get('retry-after'))).toBeLessThanOrEqual(60);
  expect((await refresh(origin, client, 'guess'.padEnd(43, 'x'))).status).toBe(429);
  const { status, body } = await redeem(origin, client, code, pkce.verifier);
  expect(status).toBe(200);
  const refreshed = await refresh(origin, client, body.refresh_token);
  expect(refreshed.status).toBe(200);
  const form = { client_id: client.client_id, token: refreshed.body.refresh_token };
  expect((await fetch(`${origin}/oauth/revoke`, { method: 'POST', body: new URLSearchParams(form) })).status).toBe(200);
  // A code or token of another client is a guess.
  const own = await register(origin);
  expect((await guess(own, 0)).status).toBe(400);
  const theirs = await codeFor(origin, own);
  expect((await redeem(origin, client, theirs.code, theirs.pkce.verifier)).status).toBe(429);
});

test('nobody locks all clients out of one address, with state in Redis', async () => {
  const store = redisSignInState({ url: redisUrl(), keyPrefix: freshKeyPrefix() });
  const origin = await start(store);
  const [app, { failures }] = [await register(origin), rateLimits(store)];
  const [forApp, forSite] = [await codeFor(origin, app), await codeFor(origin, site)];
  for (let i = 0; i < 2000; i++) await failures.hit('127.0.0.1', `made up ${i}`);
  for (const client of ['site', app.client_id]) for (let i = 0; i < 300; i++) await failures.hit('127.0.0.1', client);
  expect((await guess(await register(origin), 0)).status).toBe(429);

  expect((await redeem(origin, app, forApp.code, forApp.pkce.verifier)).status).toBe(200);
  const form = {
    grant_type: 'authorization_code',
    code: forSite.code,
    code_verifier: forSite.pkce.verifier,
    redirect_uri: callback,
  };
  expect((await tokenRequest(origin, form, basic('nobody', secret))).status).toBe(429);
  expect((await tokenRequest(origin, form, basic('site', secret))).status).toBe(200);
});
