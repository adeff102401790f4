import { afterAll, describe, expect, test } from 'vitest';
import { rateLimits } from '../../../../api/sign-in/limits/rate-limit.ts';
import { freePorts } from '../../../../infra/local/free-port.ts';
import { memorySignInState } from '../../../../infra/memory/memory-sign-in-state.ts';
import { type RideManagementOptions, startRideManagement } from '../../../support/sign-in/ride-management.ts';
import { doorOf, nights } from '../../../support/sign-in/sign-in-flow.ts';
import { startSignInService } from '../../../support/sign-in/sign-in-service.ts';
import { newPkce, TestBrowser } from '../../../support/sign-in/test-browser.ts';

async function startBoth(options: Partial<RideManagementOptions> = {}) {
  const [port] = await freePorts(1);
  const redirectUri = `http://127.0.0.1:${port}/oauth/sign-in-callback`;
  const upstream = await startRideManagement({ redirectUri, ...options });
  const store = memorySignInState();
  return { upstream, store, service: await startSignInService({ port: port!, who: { upstream }, store }) };
}

const { upstream, service } = await startBoth();
afterAll(async () => {
  await service.close();
  await upstream.stop();
});
const { origin, register, authorizeUrl, redeem } = service;
const client = await register();

const tryAgain = (page: string): string => origin + /href="([^"]+)">Try again/.exec(page)![1]!;

/** As far as the provider's door: where the browser is sent from the service's sign-in page. */
async function toTheDoor(browser: TestBrowser, more: Record<string, string> = {}, pkce = newPkce()) {
  const { url, page } = await browser.open(authorizeUrl(client, pkce, more));
  return { url, page, door: await doorOf(browser, page) };
}
const back = async (browser: TestBrowser, door: URL, login: string) =>
  browser.open(await upstream.signIn(door.href, login));

describe('a rider who signs in at the ride-management system', () => {
  // docs/rules.md#identity
  test('is known by their sub, and the app gets a token for them', async () => {
    const [browser, pkce] = [new TestBrowser(origin), newPkce()];
    const { page, door } = await toTheDoor(browser, {}, pkce);
    expect(page).toContain(new URL(upstream.issuer).host);
    expect(page).not.toContain('Ada Lovelace');
    expect(Object.fromEntries(door.searchParams)).toMatchObject({
      response_type: 'code',
      client_id: upstream.clientId,
      redirect_uri: `${origin}/oauth/sign-in-callback`,
      scope: 'openid',
      code_challenge_method: 'S256',
      code_challenge: expect.any(String),
      state: expect.any(String),
      nonce: expect.any(String),
    });
    expect(door.searchParams.has('prompt')).toBe(false);
    const consent = await back(browser, door, 'rider-ada');
    expect(consent.page).toContain('Ada Lovelace');
    const end = await browser.submit(consent.url, { do: 'allow' });
    const code = new URL(end.url).searchParams.get('code')!;
    const { body } = await redeem(client, code, pkce.verifier);
    expect(await nights(service.baseUrl, body.access_token)).toEqual({ status: 200, rider: 'rider-ada' });
    // The session spares them the provider the next time.
    expect((await browser.open(authorizeUrl(client))).page).toContain('will be able to see');
  });

  test('who is no rider of the log is told so, and goes there anew with another account', async () => {
    const browser = new TestBrowser(origin);
    const refused = await back(browser, (await toTheDoor(browser)).door, 'stranger');
    expect([refused.response.status, refused.page]).toEqual([403, expect.stringContaining('There is no rider')]);
    const again = await browser.get(/href="([^"]+)">Use another account/.exec(refused.page)![1]!);
    const door = new URL(again.headers.get('location')!);
    expect(door.searchParams.get('prompt')).toBe('login');
    expect((await back(browser, door, 'rider-ada')).page).toContain('Ada Lovelace');
  });

  test('may bring back any text: the log has words of ours, and 20 lines of a kind a minute', async () => {
    service.log.length = 0;
    const browser = new TestBrowser(origin);
    const { page } = await toTheDoor(browser);
    for (let i = 0; i < 22; i++) {
      const state = (await doorOf(browser, page)).searchParams.get('state')!;
      const query = new URLSearchParams({
        error: `stranger ${'x'.repeat(2000)}`,
        error_description: 'stranger',
        state,
        iss: upstream.issuer,
      });
      await browser.get(`${origin}/oauth/sign-in-callback?${query}`);
    }
    const lines = service.log.filter((line) => line.includes('SIGN_IN_ISSUER'));
    expect([lines.length, lines.join('').includes('stranger')]).toEqual([20, false]);
  });

  test('while it is not known who exists is told so, and goes on where they were', async () => {
    const browser = new TestBrowser(origin);
    const answer = await upstream.signIn((await toTheDoor(browser)).door.href, 'rider-ada');
    service.riders.away = true;
    const away = await browser.open(answer);
    service.riders.away = false;
    expect([away.response.status, away.page]).toEqual([503, expect.stringContaining('not available right now')]);
    const again = await browser.open(tryAgain(away.page));
    expect((await back(browser, await doorOf(browser, again.page), 'rider-ada')).page).toContain('Ada Lovelace');
  });
});

describe('an answer from the ride-management system', () => {
  test('without state, or with another browser’s, is refused', async () => {
    const [browser, stranger] = [new TestBrowser(origin), new TestBrowser(origin)];
    const answer = new URL(await upstream.signIn((await toTheDoor(browser)).door.href, 'rider-ada'));
    for (const state of ['', (await toTheDoor(stranger)).door.searchParams.get('state')!]) {
      answer.searchParams.set('state', state);
      const { response, page } = await browser.open(answer.href);
      expect([response.status, page.includes('Ada Lovelace')]).toEqual([400, false]);
    }
  });

  test('is taken in the browser that began, and once', async () => {
    const [browser, stranger] = [new TestBrowser(origin), new TestBrowser(origin)];
    const { url, door } = await toTheDoor(browser);
    expect((await back(stranger, door, 'rider-ada')).response.status).toBe(400);
    expect((await stranger.get(`${url}/start`)).status).toBe(400);
    const answer = await upstream.signIn((await toTheDoor(browser)).door.href, 'rider-ada');
    const answers = await Promise.all([browser.get(answer), browser.get(answer), browser.get(answer)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([303, 400, 400]);
  });
});

// docs/rules.md#picking-a-rider
test('no rider can be picked where riders have to prove who they are', async () => {
  const browser = new TestBrowser(origin);
  const posted = await browser.post((await toTheDoor(browser)).url, { do: 'pick', rider: 'rider-ada' });
  expect([posted.status, posted.headers.get('location')]).toEqual([403, null]);
});

test('a provider of another kind that is away is said to be, used again when it is back, and asked within a limit', async () => {
  const own = await startBoth({ authMethod: 'client_secret_post', alg: 'ES256' });
  await own.upstream.stop();
  const app = await own.service.register();
  const browser = new TestBrowser(own.service.origin);
  const at = await browser.open(own.service.authorizeUrl(app));
  const away = await browser.get(`${at.url}/start`);
  expect([away.status, await away.text()]).toEqual([502, expect.stringContaining('can’t be reached')]);
  await own.upstream.start();
  const answer = await own.upstream.signIn((await doorOf(browser, at.page)).href, 'rider-ada');
  await own.upstream.stop();
  const lost = await browser.open(answer);
  expect([lost.response.status, lost.page]).toEqual([502, expect.stringContaining(`${new URL(at.url).pathname}">Try`)]);
  expect(own.service.log.join('').includes(new URL(answer).searchParams.get('code')!)).toBe(false);
  await own.upstream.start();
  const again = await own.upstream.signIn((await doorOf(browser, at.page)).href, 'rider-cy');
  expect((await browser.open(again)).page).toContain('Cyrus');

  const next = await browser.open(own.service.authorizeUrl(app, newPkce(), { prompt: 'login' }));
  for (let i = 0; i < 600; i++) await rateLimits(own.store).authorize('127.0.0.1');
  const busy = await browser.get(`${next.url}/start`);
  expect([busy.status, Number(busy.headers.get('retry-after')) <= 60]).toEqual([429, true]);
  await own.service.close();
  await own.upstream.stop();
});
