import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { lifetimes } from '../../../../api/sign-in/provider/lifetimes.ts';
import { freePorts } from '../../../../infra/local/free-port.ts';
import { redisSignInState } from '../../../../infra/redis/sign-in/redis-sign-in-state.ts';
import { freshKeyPrefix, redisUrl } from '../../../support/servers/backends.ts';
import { startRideManagement } from '../../../support/sign-in/ride-management.ts';
import { basic, callback, doorOf } from '../../../support/sign-in/sign-in-flow.ts';
import { startSignInService } from '../../../support/sign-in/sign-in-service.ts';
import { newPkce, TestBrowser } from '../../../support/sign-in/test-browser.ts';
import { dumpRedis } from '../../../support/stores/redis-dump.ts';

/** Values of all cookies that a browser has for a path. */
const cookiesOf = (browser: TestBrowser, url: string): string[] =>
  [...browser.cookieHeader(url).matchAll(/=([^;]+)/g)].map(([, value]) => value!);

const lastOf = ({ url }: { url: string }): string => url.split('/').at(-1)!;

// docs/rules.md#stored-credentials
test('somebody who reads the Redis of sign-in or the log, at any moment of it, learns nothing that works, and all of it ends by itself', async () => {
  const [port] = await freePorts(1);
  const keyPrefix = freshKeyPrefix();
  const redis = new Redis(redisUrl());
  const upstream = await startRideManagement(`http://127.0.0.1:${port}/oauth/sign-in-callback`);
  const store = redisSignInState({ url: redisUrl(), keyPrefix });
  const service = await startSignInService({ port: port!, who: { upstream }, store });
  const { origin, register, authorizeUrl, tokenRequest } = service;

  const credentials: [name: string, value: string][] = [];
  const know = (name: string, ...values: string[]) => {
    expect(values).not.toHaveLength(0);
    for (const value of values) {
      expect(value.length, name).toBeGreaterThan(15);
      credentials.push([name, value]);
    }
  };
  const dumps: [string, string][] = [];
  const dump = async (moment: string) => {
    const entries = [...(await dumpRedis(redis, keyPrefix))];
    for (const key of new Set(entries.map(([name]) => name.split(' ')[0]!))) {
      const life = await redis.pttl(key);
      // -2: gone since it was listed.
      expect(life === -2 || (life > 0 && life <= lifetimes.usedClient * 1000), key).toBe(true);
    }
    dumps.push([moment, entries.map(([key, value]) => `${key} ${value}`).join('\n')]);
  };

  const client = await register({ token_endpoint_auth_method: 'client_secret_basic' });
  know('client secret', client.client_secret!);
  const [browser, pkce] = [new TestBrowser(origin), newPkce()];
  know('code verifier', pkce.verifier);

  const asked = await browser.open(authorizeUrl(client, pkce));
  know('interaction', lastOf(asked), ...cookiesOf(browser, asked.url));
  await dump('who are you?');

  const door = await doorOf(browser, asked.page);
  for (const name of ['state', 'nonce']) know(`the provider’s ${name}`, door.searchParams.get(name)!);
  know('browser', ...cookiesOf(browser, asked.url));
  await dump('at the provider’s door');

  const consent = await browser.open(await upstream.signIn(door.href, 'rider-ada'));
  know('second interaction', lastOf(consent));
  know('session', ...cookiesOf(browser, `${origin}/oauth/authorize`));
  await dump('may this app read?');

  const allowed = await browser.submit(consent.url, { do: 'allow' });
  const code = new URL(allowed.url).searchParams.get('code')!;
  know('code', code);
  know('session after', ...cookiesOf(browser, `${origin}/oauth/authorize`));
  await dump('a code');

  const form = { grant_type: 'authorization_code', code, code_verifier: pkce.verifier, redirect_uri: callback };
  const own = basic(client.client_id, client.client_secret!);
  const { status, body } = await tokenRequest(form, own);
  expect(status).toBe(200);
  know('tokens', body.refresh_token, body.access_token);
  const next = { grant_type: 'refresh_token', refresh_token: body.refresh_token };
  know('next token', (await tokenRequest(next, own)).body.refresh_token);
  await dump('tokens');

  const again = await browser.open(authorizeUrl(client));
  know('third interaction', lastOf(again));
  await dump('may this app read, again?');

  const words = ['"cookie"', 'codeVerifier', '"nonce"', '"returnTo"', '"secret"'].map((word) => ['a member', word]);
  for (const [moment, text] of [...dumps, ['the log', service.log.join('\n')]] as const)
    for (const [name, value] of [...credentials, ...words])
      expect(text.includes(value!), `${moment}: ${name}`).toBe(false);
  // All that there is, was looked at.
  for (const [, text] of dumps) expect(text).toContain(`e:Client:${client.client_id} p`);
  const all = dumps.map(([, text]) => text).join('\n');
  const kinds = new Set([...all.matchAll(/:e:(\w+):/g)].map(([, kind]) => kind));
  const tokens = ['AuthorizationCode', 'Client', 'Grant', 'Interaction', 'RefreshToken'];
  expect([...kinds].sort()).toEqual([...tokens, 'Session', 'SessionUid', 'UpstreamAttempt']);

  // Nor do the names of entries work in place of what they were made from.
  const names = [...dumps.at(-1)![1].matchAll(/:e:(\w+):(\S+) p/g)];
  for (const [, kind, id] of names) {
    if (kind === 'RefreshToken') expect((await tokenRequest({ ...next, refresh_token: id! }, own)).status).toBe(400);
    if (kind === 'Client') {
      const entry = await redis.hget(`${keyPrefix}{auth}:e:Client:${id}`, 'p');
      const hashed = /"client_secret":"([^"]+)"/.exec(entry!)![1]!;
      expect((await tokenRequest(next, basic(id!, hashed))).status).toBe(401);
    }
  }
  redis.disconnect();
});
