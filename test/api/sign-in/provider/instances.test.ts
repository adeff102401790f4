import { decodeProtectedHeader } from 'jose';
import { expect, test } from 'vitest';
import type { SigningKeys } from '../../../../api/sign-in/tokens/signing-keys.ts';
import { freePorts } from '../../../../infra/local/free-port.ts';
import { memorySignInState } from '../../../../infra/memory/memory-sign-in-state.ts';
import { approve, flowAt, nights } from '../../../support/sign-in/sign-in-flow.ts';
import { newSigningKeys, startSignInService, testRiders } from '../../../support/sign-in/sign-in-service.ts';
import { nextOf, TestBrowser } from '../../../support/sign-in/test-browser.ts';

test('instances that share store, keys and cookie keys take over from each other', async () => {
  const shared = { keys: await newSigningKeys(), riders: testRiders(), store: memorySignInState() };
  const one = await startSignInService(shared);
  // Behind one address, as far as anybody can tell: the second knows itself by the first one's.
  const two = await startSignInService({ ...shared, baseUrl: one.baseUrl });
  const atTwo = flowAt(two.app.listeningOrigin);
  const client = await atTwo.register();
  const { code, pkce } = await one.codeFor(client);
  const { body } = await atTwo.redeem(client, code, pkce.verifier);
  expect((await one.redeem(client, code, pkce.verifier)).body.error).toBe('invalid_grant');
  expect((await nights(one.baseUrl, body.access_token)).rider).toBe('rider-ada');
  // One and the same token three times, wherever.
  const statuses = [];
  for (const { refresh } of [atTwo, one, atTwo, one]) statuses.push((await refresh(client, body.refresh_token)).status);
  expect(statuses).toEqual([200, 200, 200, 400]);
});

// docs/rules.md#stored-credentials
test('signing keys and cookie keys are rotated without a dead token or session: append, move to the front, remove', async () => {
  const [old, fresh] = [await newSigningKeys(), await newSigningKeys()];
  const [oldCookie, freshCookie] = ['an old cookie key of 32 characters', 'a new cookie key of 32 characters'];
  const store = { ...memorySignInState(), close: async () => {} };
  const [port] = await freePorts(1);
  let end = async () => {};
  const restart = async (keys: SigningKeys, cookieKeys: string[]) => {
    await end();
    const service = await startSignInService({ keys, cookieKeys, store, port: port! });
    end = service.close;
    return service;
  };
  const first = await restart([...old, ...fresh], [oldCookie!, freshCookie!]);
  const { origin, baseUrl, authorizeUrl, refresh, signedIn } = first;
  const { client, tokens } = await signedIn();
  expect(decodeProtectedHeader(tokens.access_token).kid).toBe(old[0].kid);
  const published = await (await fetch(`${origin}/oauth/jwks`)).json();
  expect(published).toMatchObject({ keys: [{ kid: old[0].kid }, { kid: fresh[0].kid }] });
  const [browser, idle] = [new TestBrowser(origin), new TestBrowser(origin)];
  await approve(browser, authorizeUrl(client));
  const pending = await browser.open(authorizeUrl(client));
  const idlePending = await idle.open(authorizeUrl(client));

  await restart([...fresh, ...old], [freshCookie!, oldCookie!]);
  expect((await nights(baseUrl, tokens.access_token)).status).toBe(200);
  const { body } = await refresh(client, tokens.refresh_token);
  expect(decodeProtectedHeader(body.access_token).kid).toBe(fresh[0].kid);
  expect((await browser.submit(pending.url, { do: 'allow' })).url).toContain('code=');

  // The session was sealed by the new key in the meantime, so that the old one can go.
  const last = await restart(fresh, [freshCookie!]);
  expect((await browser.open(authorizeUrl(client))).page).toContain('will be able to see');
  expect((await idle.open(idlePending.url)).response.status).toBe(400);
  expect((await nights(baseUrl, body.access_token)).status).toBe(200);
  expect((await nights(baseUrl, tokens.access_token)).status).toBe(401);
  expect((await refresh(client, body.refresh_token)).status).toBe(200);
  // A session that nobody can read any more is the rider's all the same.
  last.riders.erase('rider-ada');
  await last.signIn.eraseRider('rider-ada');
  expect(await store.ofAccount('rider-ada')).toEqual([]);
});

// docs/rules.md#stored-credentials
test('a session that this service did not seal is nobody’s', async () => {
  const service = await startSignInService();
  const { origin, store } = service;
  const browser = new TestBrowser(origin);
  const request = service.authorizeUrl(await service.register());
  await approve(browser, request);
  const now = Math.floor(Date.now() / 1000);
  const session = { iat: now, exp: now + 600, kind: 'Session', accountId: 'rider-bo', loginTs: now, uid: 'forged' };
  const [sealed] = await store.ofAccount('rider-ada', 'Session');
  await store.put('Session', sealed!.id, session, { lifeSeconds: 600, account: 'rider-bo' });
  expect((await browser.open(request)).page).toContain('Pick any rider');
});

test('behind https every cookie is Secure, and every address is the public one', async () => {
  const service = await startSignInService({ baseUrl: 'https://rides.example/v/one/', who: null });
  const { register, authorizeUrl } = flowAt(service.app.listeningOrigin);
  const started = await fetch(authorizeUrl(await register()), { redirect: 'manual' });
  const cookies = started.headers.getSetCookie();
  expect(cookies).toHaveLength(4);
  for (const cookie of cookies) {
    for (const part of [/^__(Host|Secure)-ride_calendar_/, /; secure/i, /; httponly/i, /; samesite=lax/i])
      expect(cookie).toMatch(part);
    // A browser must not compare our clock with its own.
    expect([cookie.match(/expires/i), /; max-age=(\d+)/i.exec(cookie)?.[1]]).toEqual([null, '900']);
  }
  expect(started.headers.get('strict-transport-security')).toBe('max-age=31536000');
});

// docs/rules.md#sessions
test.each([
  ['http', (port: number) => `ride_calendar_${port}_session`, ''],
  ['https', () => '__Host-ride_calendar_session', '; secure'],
])('behind %s a session’s cookie is this host’s alone and lasts while the browser is open', async (...of) => {
  const [scheme, nameAt, secure] = of;
  const [port] = await freePorts(1);
  const service = await startSignInService({ port: port!, baseUrl: `${scheme}://127.0.0.1:${port}/api` });
  const { register, authorizeUrl } = flowAt(service.app.listeningOrigin);
  const browser = new TestBrowser(service.app.listeningOrigin);
  const { url } = await browser.open(authorizeUrl(await register()));
  const picked = await browser.post(url, { do: 'pick', rider: 'rider-ada' });
  const resumed = await browser.get(nextOf(await picked.text())!.replace('https:', 'http:'));
  const cookies = resumed.headers.getSetCookie().map((line) => line.replace(/=[^;]*/, ''));
  for (const name of [nameAt(port!), `${nameAt(port!)}.sig`])
    expect(cookies).toContain(`${name}; path=/; samesite=lax${secure}; httponly`);
  // Those of the sign-in that is over go.
  expect(
    resumed.headers
      .getSetCookie()
      .join('\n')
      .match(/_resume=;.*expires=Thu, 01 Jan 1970/g),
  ).toHaveLength(1);
});

test('without a way for riders to prove who they are, nobody signs in, and the page says so', async () => {
  const service = await startSignInService({ who: null });
  const browser = new TestBrowser(service.origin);
  const at = await browser.open(service.authorizeUrl(await service.register()));
  expect([at.response.status, at.page]).toEqual([503, expect.stringContaining('SIGN_IN_ISSUER')]);
  expect(at.response.headers.get('retry-after')).toBe('60');
  expect((await browser.post(at.url, { do: 'pick', rider: 'rider-ada' })).headers.get('location')).toBeNull();
  expect(service.log.join('')).toMatch(/"level":40.*nobody can sign in: set SIGN_IN_ISSUER/);
});

const native = { application_type: 'native', token_endpoint_auth_method: 'none' };
const odd = { ...native, client_id: 'odd', redirect_uris: ['https://localhost/cb'] };
test.each([
  [/riders be picked at HOST 0.0.0.0: want a loopback address/, { who: { pickerAt: '0.0.0.0' } }],
  [/riders be picked at BASE_URL rides.example: want/, { baseUrl: 'https://rides.example/api' }],
  // Which the protocol refuses.
  [/Cannot use OAUTH_CLIENTS: client 1 \("odd"\): redirect_uris/, { clients: [odd] }],
])(
  'sign-in does not start with riders to pick where others can reach it, nor with a wrong client: %s',
  async (words, options) => await expect(startSignInService(options)).rejects.toThrow(words),
);

// docs/rules.md#sign-in-state
const risk = 'the Redis of sign-in has no persistence: set appendonly yes';
test.each([
  ['what a restart of the store would lose', async () => risk],
  ['that this is not known', () => Promise.reject(new Error(risk))],
])('%s is said at the start', async (_, tell) => {
  const service = await startSignInService({ store: { ...memorySignInState(), risk: tell } });
  const warned = service.log.filter((line) => line.includes(risk));
  expect(warned).toEqual([expect.stringContaining('"level":40')]);
});
