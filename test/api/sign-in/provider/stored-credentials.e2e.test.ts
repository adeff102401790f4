import { Redis } from 'ioredis';
import { describe, expect, test } from 'vitest';
import { defaultLifetimes } from '../../../../api/sign-in/provider/lifetimes.ts';
import { freePorts } from '../../../../infra/local/free-port.ts';
import { memorySignInState } from '../../../../infra/memory/memory-sign-in-state.ts';
import { redisSignInState } from '../../../../infra/redis/sign-in/redis-sign-in-state.ts';
import { freshKeyPrefix, redisUrl } from '../../../support/servers/backends.ts';
import { startRideManagement } from '../../../support/sign-in/ride-management.ts';
import {
  approve,
  authorizeUrl,
  type Client,
  callback,
  doorOf,
  refresh,
  register,
  signedIn,
  tokenRequest,
} from '../../../support/sign-in/sign-in-flow.ts';
import { newSigningKeys, startSignInService, testCookieKeys } from '../../../support/sign-in/sign-in-service.ts';
import { newPkce, TestBrowser } from '../../../support/sign-in/test-browser.ts';
import { dumpRedis } from '../../../support/stores/redis-dump.ts';

const basic = ({ client_id: id, client_secret: secret }: Client) => ({
  authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
});

/** Values of all cookies that a browser has for a path. */
const cookiesOf = (browser: TestBrowser, url: string): string[] =>
  browser
    .cookieHeader(url)
    .split('; ')
    .map((pair) => pair.slice(pair.indexOf('=') + 1));

// docs/rules.md#stored-credentials
test('somebody who reads the Redis of sign-in or the log, at any moment of it, learns nothing that works, and all of it ends by itself', async () => {
  const [port] = await freePorts(1);
  const keyPrefix = freshKeyPrefix();
  const redis = new Redis(redisUrl());
  const upstream = await startRideManagement({ redirectUri: `http://127.0.0.1:${port}/oauth/sign-in-callback` });
  const store = redisSignInState({ url: redisUrl(), keyPrefix });
  const service = await startSignInService({ port: port!, who: { upstream }, store });
  const { origin } = service;

  const credentials = new Map<string, string>();
  const know = (name: string, ...values: string[]) => {
    for (const [i, value] of values.entries()) {
      expect([name, value.length]).toEqual([name, expect.toSatisfy((length: number) => length > 15)]);
      credentials.set(`${name} ${i}`, value);
    }
  };
  const dumps: [string, string][] = [];
  const dump = async (moment: string) => {
    const entries = [...(await dumpRedis(redis, keyPrefix))];
    for (const key of new Set(entries.map(([name]) => name.split(' ')[0]!))) {
      const life = await redis.pttl(key);
      // -2: gone since it was listed.
      expect([key, life === -2 || (life > 0 && life <= defaultLifetimes.usedClient * 1000)]).toEqual([key, true]);
    }
    dumps.push([moment, entries.map(([key, value]) => `${key} ${value}`).join('\n')]);
  };

  const client = await register(origin, { token_endpoint_auth_method: 'client_secret_basic' });
  know('client secret', client.client_secret!);
  const [browser, pkce] = [new TestBrowser(origin), newPkce()];
  know('code verifier', pkce.verifier);

  const asked = await browser.open(authorizeUrl(origin, client, pkce));
  const uid = /sign-in\/([^/]+)$/.exec(asked.url)![1]!;
  know('interaction', uid, ...cookiesOf(browser, asked.url));
  await dump('who are you?');

  const door = await doorOf(browser, asked.page);
  for (const name of ['state', 'nonce']) know(`the provider’s ${name}`, door.searchParams.get(name)!);
  know('browser', ...cookiesOf(browser, asked.url));
  await dump('at the provider’s door');

  const consent = await browser.open(await upstream.signIn(door.href, 'rider-ada'));
  know('second interaction', /sign-in\/([^/]+)$/.exec(consent.url)![1]!);
  know('session', ...cookiesOf(browser, `${origin}/oauth/authorize`));
  await dump('may this app read?');

  const allowed = await browser.submit(consent.url, { do: 'allow' });
  const code = new URL(allowed.url).searchParams.get('code')!;
  know('code', code);
  know('session after', ...cookiesOf(browser, `${origin}/oauth/authorize`));
  await dump('a code');

  const form = { grant_type: 'authorization_code', code, code_verifier: pkce.verifier, redirect_uri: callback };
  const { status, body } = await tokenRequest(origin, form, basic(client));
  expect(status).toBe(200);
  know('tokens', body.refresh_token, body.access_token);
  const next = { grant_type: 'refresh_token', refresh_token: body.refresh_token };
  know('next token', (await tokenRequest(origin, next, basic(client))).body.refresh_token);
  await dump('tokens');

  const again = await browser.open(authorizeUrl(origin, client, newPkce()));
  know('third interaction', /sign-in\/([^/]+)$/.exec(again.url)![1]!);
  await dump('may this app read, again?');

  for (const [name, value] of credentials) expect([name, service.log.join('').includes(value)]).toEqual([name, false]);
  for (const [moment, text] of dumps) {
    for (const [name, value] of credentials)
      expect([moment, name, text.includes(value)]).toEqual([moment, name, false]);
    for (const word of ['"cookie"', 'codeVerifier', '"nonce"', '"returnTo"', '"secret"'])
      expect([moment, word, text.includes(word)]).toEqual([moment, word, false]);
    // All that there is, was looked at.
    expect(text).toContain(`e:Client:${client.client_id} p`);
  }
  const all = dumps.map(([, text]) => text).join('\n');
  const kinds = new Set([...all.matchAll(/:e:(\w+):/g)].map(([, kind]) => kind));
  expect([...kinds].sort()).toEqual([
    'AuthorizationCode',
    'Client',
    'Grant',
    'Interaction',
    'RefreshToken',
    'Session',
    'SessionUid',
    'UpstreamAttempt',
  ]);

  // Nor do the names of entries work in place of what they were made from.
  const names = [...dumps.at(-1)![1].matchAll(/:e:(\w+):(\S+) p/g)];
  for (const [, kind, id] of names) {
    if (kind === 'RefreshToken')
      expect((await tokenRequest(origin, { ...next, refresh_token: id! }, basic(client))).status).toBe(400);
    if (kind === 'Client') {
      const hashed = /"client_secret":"([^"]+)"/.exec(
        (await redis.hget(`${keyPrefix}{auth}:e:Client:${id}`, 'p'))!,
      )![1]!;
      expect((await tokenRequest(origin, next, basic({ client_id: id!, client_secret: hashed }))).status).toBe(401);
    }
  }
  await service.close();
  await upstream.stop();
  redis.disconnect();
});

describe('over restarts', () => {
  const store = { ...memorySignInState(), close: async () => {} };
  const [fresh, old] = ['another key for tests, 32 characters and more', testCookieKeys[0]!];
  const keys = newSigningKeys();
  const run = async (cookieKeys: string[], port?: number) =>
    await startSignInService({ store, keys: await keys, cookieKeys, ...(port && { port }) });

  test('a new cookie key goes before the old one without a rider noticing, and the old one’s sessions end with it', async () => {
    let service = await run([old]);
    const { origin } = service;
    const port = Number(new URL(origin).port);
    const { client, tokens } = await signedIn(origin);
    const browser = new TestBrowser(origin);
    await approve(browser, authorizeUrl(origin, client, newPkce()));
    const pending = await browser.open(authorizeUrl(origin, client, newPkce()));
    expect(pending.page).toContain('will be able to see');
    await service.close();

    service = await run([fresh, old], port);
    expect((await browser.submit(pending.url, { do: 'allow' })).url).toContain('code=');
    const second = await browser.open(authorizeUrl(origin, client, newPkce()));
    expect(second.page).toContain('will be able to see');
    const idle = new TestBrowser(origin);
    const idlePending = await idle.open(authorizeUrl(origin, client, newPkce()));
    await service.close();

    // Sealed by the new key in the meantime, so that the old one can go.
    service = await run([fresh], port);
    expect((await browser.open(authorizeUrl(origin, client, newPkce()))).page).toContain('will be able to see');
    expect((await refresh(origin, client, tokens.refresh_token)).status).toBe(200);
    await service.close();

    service = await run(['a third key for tests, of 32 characters or more'], port);
    const over = await browser.open(authorizeUrl(origin, client, newPkce()));
    expect([over.response.status, over.page]).toEqual([200, expect.stringContaining('Pick any rider')]);
    expect((await idle.open(idlePending.url)).response.status).toBe(400);
    // A session that nobody can read any more is the rider's all the same.
    service.riders.erase('rider-ada');
    await service.signIn.eraseRider('rider-ada');
    expect(await store.ofAccount('rider-ada')).toEqual([]);
    await service.close();
  });

  test('a session that this service did not seal is nobody’s', async () => {
    const service = await run([old]);
    const { origin } = service;
    const { client } = await signedIn(origin);
    const browser = new TestBrowser(origin);
    await approve(browser, authorizeUrl(origin, client, newPkce()));
    const now = Math.floor(Date.now() / 1000);
    const session = { iat: now, exp: now + 600, kind: 'Session', accountId: 'rider-bo', loginTs: now, uid: 'forged' };
    const sessions = (await store.ofAccount('rider-ada')).filter(({ kind }) => kind === 'Session');
    expect(sessions.length).toBeGreaterThan(0);
    for (const { kind, id } of sessions) await store.put(kind, id, session, { lifeSeconds: 600, account: 'rider-bo' });
    const asked = await browser.open(authorizeUrl(origin, client, newPkce()));
    expect(asked.page).toContain('Pick any rider');
    await service.close();
  });
});
