import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { rateLimits } from '../../../../api/sign-in/limits/rate-limit.ts';
import { freePorts } from '../../../../infra/local/free-port.ts';
import { memorySignInState } from '../../../../infra/memory/memory-sign-in-state.ts';
import { realClock } from '../../../../projector/running/clock.ts';
import { type Fault, type RideManagement, startRideManagement } from '../../../support/sign-in/ride-management.ts';
import { doorOf, nights } from '../../../support/sign-in/sign-in-flow.ts';
import { startSignInService } from '../../../support/sign-in/sign-in-service.ts';
import { newPkce, TestBrowser } from '../../../support/sign-in/test-browser.ts';

const [port, freshPort] = await freePorts(2);
const redirectUri = [port, freshPort].map((at) => `http://127.0.0.1:${at}/oauth/sign-in-callback`);
const upstream = await startRideManagement(redirectUri, 'ES256', 'client_secret_post');
const service = await startSignInService({ port: port!, who: { upstream } });
type Faults = RideManagement['faults'];
const mend = () => {
  for (const path of Object.keys(upstream.faults)) delete upstream.faults[path as keyof Faults];
};
afterEach(mend);
const { origin, told, store, authorizeUrl } = service;
const client = await service.register();

const tryAgain = (page: string): string => origin + /href="([^"]+)">Try again/.exec(page)![1]!;
/** A browser as far as the service's sign-in page, and what its answer from the provider will be. */
async function begin({ at = service, by = client, pkce = newPkce() } = {}) {
  const browser = new TestBrowser(at.origin);
  const { url, page } = await browser.open(at.authorizeUrl(by, pkce));
  const door = async () => await doorOf(browser, page);
  return { browser, url, page, door, answer: async () => await upstream.signIn((await door()).href, 'rider-ada') };
}
type Change = (params: URLSearchParams) => void;
/** Goes through the provider and comes back, with an answer that was changed on its way. */
async function back(browser: TestBrowser, page: string, change: Change = () => {}, login = 'rider-ada') {
  const answer = new URL(await upstream.signIn((await doorOf(browser, page)).href, login));
  change(answer.searchParams);
  told.length = 0;
  return await browser.open(answer.href);
}

describe('a rider who signs in at the ride-management system', () => {
  // docs/rules.md#identity
  test('is known by their sub, and the app gets a token for them', async () => {
    const pkce = newPkce();
    const { browser, page, door } = await begin({ pkce });
    expect(page).toContain(new URL(upstream.issuer).host);
    expect(page).not.toContain('Ada Lovelace');
    const { searchParams } = await door();
    expect(Object.fromEntries(searchParams)).toMatchObject({
      response_type: 'code',
      redirect_uri: `${origin}/oauth/sign-in-callback`,
      scope: 'openid',
      code_challenge_method: 'S256',
      nonce: expect.any(String),
    });
    expect(searchParams.has('prompt')).toBe(false);
    const consent = await back(browser, page);
    expect(told).toEqual([['sign_in', { client: client.client_id, cause: 'provider' }]]);
    expect(consent.page).toContain('Ada Lovelace');
    const end = await browser.submit(consent.url, { do: 'allow' });
    const { body } = await service.redeem(client, new URL(end.url).searchParams.get('code')!, pkce.verifier);
    expect(await nights(service.baseUrl, body.access_token)).toEqual({ status: 200, rider: 'rider-ada' });
    // The session spares them the provider the next time.
    expect((await browser.open(authorizeUrl(client))).page).toContain('will be able to see');
  });

  test('who is no rider of the log is told so, and goes there anew with another account', async () => {
    const { browser, page } = await begin();
    const refused = await back(browser, page, undefined, 'stranger');
    expect([refused.response.status, refused.page]).toEqual([403, expect.stringContaining('There is no rider')]);
    expect(refused.page).toContain('<code>no_such_rider');
    expect(told).toEqual([['sign_in_refused', { cause: 'unknown_rider' }]]);
    const again = await browser.get(/href="([^"]+)">Use another account/.exec(refused.page)![1]!);
    expect(again.headers.get('cache-control')).toBe('no-store');
    expect(again.headers.getSetCookie().join()).toMatch(/_browser=[^,]* Max-Age=900$/);
    const door = new URL(again.headers.get('location')!);
    expect(door.searchParams.get('prompt')).toBe('login');
    expect((await browser.open(await upstream.signIn(door.href, 'rider-ada'))).page).toContain('Ada Lovelace');
  });

  test.each([
    ['a no', `theirwords ${'x'.repeat(2000)}`, 40],
    ['a fault', 'server_error', 50],
  ])('may bring back %s in any words: the log has ours, and 20 lines of a kind a minute', async (_, error, level) => {
    service.log.length = 0;
    const { browser, door } = await begin();
    for (let i = 0; i < 22; i++) {
      const state = (await door()).searchParams.get('state')!;
      const query = new URLSearchParams({ error, error_description: 'theirwords', state, iss: upstream.issuer });
      await browser.get(`${origin}/oauth/sign-in-callback?${query}`);
    }
    const lines = service.log.filter((line) => line.includes('SIGN_IN_ISSUER'));
    expect([lines.length, lines.join('').includes('theirwords')]).toEqual([20, false]);
    for (const line of lines) expect(JSON.parse(line)).toMatchObject({ level });
  });

  test('while it is not known who exists is told so, and goes on where they were', async () => {
    const { browser, answer } = await begin();
    const comeBack = await answer();
    service.riders.away = true;
    const away = await browser.open(comeBack);
    service.riders.away = false;
    expect([away.response.status, away.page]).toEqual([503, expect.stringContaining('not available right now')]);
    expect(JSON.parse(service.log.at(-1)!)).toMatchObject({ level: 40, msg: 'sign-in failed: the views are away' });
    const again = await browser.open(tryAgain(away.page));
    expect((await back(browser, again.page)).page).toContain('Ada Lovelace');
  });

  // docs/rules.md#picking-a-rider
  test('cannot be picked instead', async () => {
    const { browser, url } = await begin();
    const posted = await browser.post(url, { do: 'pick', rider: 'rider-ada' });
    expect([posted.status, posted.headers.get('location')]).toEqual([403, null]);
  });
});

test('an answer from the ride-management system is taken with its own state, in the browser that began, and once', async () => {
  const [mine, other] = [await begin(), await begin()];
  const wrong = new URL(await mine.answer());
  for (const state of ['', (await other.door()).searchParams.get('state')!]) {
    wrong.searchParams.set('state', state);
    expect((await mine.browser.open(wrong.href)).response.status).toBe(400);
  }
  expect((await other.browser.open(await mine.answer())).response.status).toBe(400);
  expect(told.at(-1)).toEqual(['sign_in_refused', { cause: 'other_browser' }]);
  expect((await other.browser.get(`${mine.url}/start`)).status).toBe(400);
  const answer = await mine.answer();
  // In another tab.
  await mine.door();
  const answers = await Promise.all([1, 2, 3].map(() => mine.browser.get(answer)));
  expect(answers.map(({ status }) => status).sort()).toEqual([303, 400, 400]);
});

// docs/rules.md#signing-out
test('after a sign-out the provider asks who it is, until somebody has signed in, whatever the app does', async () => {
  const { browser, page } = await begin();
  const open = async () => (await browser.open(authorizeUrl(client))).page;
  const prompt = async () => (await doorOf(browser, await open())).searchParams.get('prompt');
  await back(browser, page);
  const { page: bye } = await browser.submit(`${origin}/oauth/sign-out`, {});
  expect(bye).toContain(`You may still be signed in at ${new URL(upstream.issuer).host}`);
  // It may be begun and left.
  for (const _ of ['begun', 'again']) expect(await prompt()).toBe('login');
  expect((await back(browser, await open())).page).toContain('Ada Lovelace');
  // The session ends in another way: no sign-out.
  for (const { kind, id } of await store.ofAccount('rider-ada', 'Session')) await store.remove(kind, id);
  expect(await prompt()).toBeNull();
});

test('a provider that is away is said to be, used again when it is back, and asked within a limit', async () => {
  let now = 0;
  const ownStore = memorySignInState({ ...realClock, nowMs: () => now });
  const own = await startSignInService({ port: freshPort!, who: { upstream }, store: ownStore });
  const by = await own.register();
  const { browser, url, answer, door } = await begin({ at: own, by });
  await upstream.stop();
  const away = await browser.get(`${url}/start`);
  expect([away.status, await away.text()]).toEqual([502, expect.stringContaining('can’t be reached')]);
  await upstream.start();
  const comeBack = await answer();
  await upstream.stop();
  const lost = await browser.open(comeBack);
  expect([lost.response.status, lost.page]).toEqual([502, expect.stringContaining(`${new URL(url).pathname}">Try`)]);
  expect(own.log.join('').includes(new URL(comeBack).searchParams.get('code')!)).toBe(false);
  await upstream.start();
  const again = await upstream.signIn((await door()).href, 'rider-cy');
  expect((await browser.open(again)).page).toContain('Cyrus');

  const next = await begin({ at: own, by });
  for (let i = 0; i < 600; i++) await rateLimits(ownStore).authorize('127.0.0.1');
  now = 20_000;
  const busy = await next.browser.get(`${next.url}/start`);
  for (const { status, headers } of [busy, await next.browser.get(own.authorizeUrl(by))])
    expect([status, headers.get('retry-after')]).toEqual([429, '40']);
});

const answerJson = (body: object | string, status = 200, headers: Record<string, string> = {}): Fault => {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return (response) => response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text);
};
/** A page, as proxies answer for what is behind them. */
const answerPage = (status: number) => answerJson('<h1>Out of order</h1>', status, { 'content-type': 'text/html' });
const said =
  (error: string): Change =>
  (params) => {
    params.delete('code');
    params.set('error', error);
  };

// docs/rules.md#identity, docs/audit-trail.md
describe('a fault of the riders’ provider is told as one, and the rider can try again', () => {
  const basicRealm = { 'www-authenticate': 'Basic realm="x"' };
  type Case = [string, Faults, Change?];
  test.each<Case>([
    ...[502, 429].map((status): Case => [`token endpoint ${status}`, { '/token': answerPage(status) }]),
    ...['server_error', 'temporarily_unavailable', 'slow_down', 'unauthorized_client'].map(
      (error): Case => [`token endpoint 400 ${error}`, { '/token': answerJson({ error }, 400) }],
    ),
    ['token endpoint 429 as OAuth says it', { '/token': answerJson({ error: 'any' }, 429) }],
    ['token endpoint a page with 200', { '/token': answerPage(200) }],
    ['token endpoint no ID token', { '/token': answerJson({ access_token: 'x', token_type: 'Bearer' }) }],
    ['token endpoint that hangs up', { '/token': (response) => void response.destroy() }],
    ['which does not know this service', { '/token': answerJson({ error: 'invalid_client' }, 401) }],
    ['which does not know us, by its header', { '/token': answerJson({ error: 'invalid_client' }, 401, basicRealm) }],
    ['keys 503', { '/jwks': answerPage(503) }],
    ['keys of others', { '/jwks': answerJson({ keys: [] }) }],
    ['callback server_error', {}, said('server_error')],
    ['callback temporarily_unavailable', {}, said('temporarily_unavailable')],
  ])('%s', async (_, faults, change) => {
    const { browser, page } = await begin();
    Object.assign(upstream.faults, faults);
    const failed = await back(browser, page, change);
    expect([failed.response.status, failed.page]).toEqual([502, expect.stringContaining('upstream_unavailable')]);
    expect(told).toEqual([['sign_in_refused', { cause: 'upstream_unavailable' }]]);
    mend();
    const again = await browser.open(tryAgain(failed.page));
    expect((await back(browser, again.page)).page).toContain('Ada Lovelace');
  });

  const having = (name: string, value?: string): Fault => {
    const { issuer } = upstream;
    const known = { authorization_endpoint: `${issuer}/auth`, token_endpoint: `${issuer}/token` };
    return answerJson({ issuer, ...known, jwks_uri: `${issuer}/jwks`, [name]: value });
  };
  test.each<[string, Fault]>([
    ['a page with 503', answerPage(503)],
    ['a page with 200', answerPage(200)],
    ['no token endpoint', having('token_endpoint')],
    ['an endpoint that is no address', having('authorization_endpoint', 'javascript:alert(1)')],
    ['keys at another endpoint', having('jwks_uri', `${upstream.issuer}/token`)],
  ])('metadata that can’t be used, which are not kept: %s', async (_, fault) => {
    upstream.faults['/.well-known/openid-configuration'] = fault;
    const fresh = await startSignInService({ port: freshPort!, who: { upstream } });
    const { browser, url, page } = await begin({ at: fresh, by: await fresh.register() });
    const started = await browser.get(`${url}/start`);
    const failed = started.status === 502 ? await started.text() : (await back(browser, page)).page;
    expect(failed).toContain('upstream_unavailable');
    expect(fresh.told.at(-1)).toEqual(['sign_in_refused', { cause: 'upstream_unavailable' }]);
    mend();
    expect((await back(browser, page)).page).toContain('Ada Lovelace');
  });
});

test('the provider has ten seconds for each answer, and its metadata are fetched again after an hour', async () => {
  const waits = vi.spyOn(AbortSignal, 'timeout');
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => {
    vi.useRealTimers();
    waits.mockRestore();
  });
  const fresh = await startSignInService({ port: freshPort!, who: { upstream } });
  const by = await fresh.register();
  const { browser, page } = await begin({ at: fresh, by });
  expect((await back(browser, page)).page).toContain('Ada Lovelace');
  expect(new Set(waits.mock.calls.flat())).toEqual(new Set([10_000]));
  upstream.faults['/.well-known/openid-configuration'] = answerPage(503);
  const statusAfter = async (minutes: number) => {
    vi.advanceTimersByTime(minutes * 60_000);
    const next = await begin({ at: fresh, by });
    return (await next.browser.get(`${next.url}/start`)).status;
  };
  expect([await statusAfter(59), await statusAfter(2)]).toEqual([303, 502]);
});

test('a key that the provider has just rotated keeps nobody out', async () => {
  for (const _ of ['old', 'new', 'newer']) {
    const { browser, page } = await begin();
    expect((await back(browser, page)).page).toContain('Ada Lovelace');
    upstream.rotateKey();
  }
});

test.each<[string, Change]>([
  ['access_denied', said('access_denied')],
  ['a code of nobody', (params) => params.set('code', 'x')],
  ['another issuer', (params) => params.set('iss', 'https://elsewhere.example')],
  ['no issuer', (params) => params.delete('iss')],
])('a no of the riders’ provider stays one: %s', async (_, change) => {
  const { browser, page } = await begin();
  const refused = await back(browser, page, change);
  expect([refused.response.status, refused.page]).toEqual([403, expect.stringContaining('upstream_refused')]);
  expect(told).toEqual([['sign_in_refused', { cause: 'provider' }]]);
});
