import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { rateLimits } from '../../../../api/sign-in/limits/rate-limit.ts';
import { freePorts } from '../../../../infra/local/free-port.ts';
import { memorySignInState } from '../../../../infra/memory/memory-sign-in-state.ts';
import { launchBrowser } from '../../../support/processes/browser.ts';
import {
  type RideManagement,
  type RideManagementOptions,
  startRideManagement,
} from '../../../support/sign-in/ride-management.ts';
import { approve, authorizeUrl, type Client, nights, redeem, register } from '../../../support/sign-in/sign-in-flow.ts';
import { startSignInService, type TestService } from '../../../support/sign-in/sign-in-service.ts';
import { csrfOf, newPkce, TestBrowser } from '../../../support/sign-in/test-browser.ts';

async function startBoth(options: Partial<RideManagementOptions> = {}) {
  const [port] = await freePorts(1);
  const upstream = await startRideManagement({
    redirectUri: `http://127.0.0.1:${port}/oauth/sign-in-callback`,
    ...options,
  });
  const service = await startSignInService({ port: port!, who: { upstream } });
  return { upstream, service };
}

let upstream: RideManagement;
let service: TestService;
let origin: string;
let client: Client;
beforeAll(async () => {
  ({ upstream, service } = await startBoth());
  origin = service.origin;
  client = await register(origin);
});
afterAll(async () => {
  await service.close();
  await upstream.stop();
});

const tryAgain = (page: string): string => origin + /href="([^"]+)">Try again/.exec(page)![1]!;

/** As far as the provider's door: where the browser is sent from the service's sign-in page. */
async function toTheDoor(browser: TestBrowser, more: Record<string, string> = {}, pkce = newPkce()) {
  const at = await browser.open(authorizeUrl(origin, client, pkce, more));
  const start = /href="([^"]+\/start)"/.exec(at.page)![1]!;
  const sent = await browser.get(start);
  return { page: at.page, url: at.url, door: new URL(sent.headers.get('location')!), sent, pkce };
}

describe('a rider who signs in at the ride-management system', () => {
  // docs/rules.md#identity
  test('is known by their sub, and the app gets a token for them', async () => {
    const browser = new TestBrowser(origin);
    const { page, door, pkce } = await toTheDoor(browser);
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
    const back = await upstream.signIn(door.href, 'rider-ada');
    const consent = await browser.follow(await browser.get(back));
    const asked = await consent.response.text();
    expect(asked).toContain('Ada Lovelace');
    const end = await browser.follow(await browser.post(consent.url, { do: 'allow', csrf: csrfOf(asked) }));
    const code = new URL(end.url).searchParams.get('code')!;
    const { body } = await redeem(origin, client, code, pkce.verifier);
    expect(await nights(service.baseUrl, body.access_token)).toEqual({ status: 200, rider: 'rider-ada' });
    // The session spares them the provider the next time.
    expect((await browser.open(authorizeUrl(origin, client, newPkce()))).page).toContain('will be able to see');
  });

  test('who is no rider of the log is told so, and may use another account', async () => {
    const browser = new TestBrowser(origin);
    const { door } = await toTheDoor(browser);
    expect(door.searchParams.has('prompt')).toBe(false);
    const refused = await browser.open(await upstream.signIn(door.href, 'stranger'));
    expect([refused.response.status, refused.page]).toEqual([403, expect.stringContaining('There is no rider')]);
    const again = await browser.get(/href="([^"]+other=1)"/.exec(refused.page)![1]!);
    const secondDoor = new URL(again.headers.get('location')!);
    expect(secondDoor.searchParams.get('prompt')).toBe('login');
    expect((await browser.open(await upstream.signIn(secondDoor.href, 'rider-bo'))).page).toContain('@bo');
  });

  test('whose sub has another form than riders’ ids is refused', async () => {
    const browser = new TestBrowser(origin);
    const { door } = await toTheDoor(browser);
    const refused = await browser.open(await upstream.signIn(door.href, 'rider ada'));
    expect(refused.response.status).toBe(403);
  });

  test('anew, because the app asked for it, is asked anew there too, once', async () => {
    const browser = new TestBrowser(origin);
    const { door } = await toTheDoor(browser, { prompt: 'login' });
    expect(door.searchParams.get('prompt')).toBe('login');
    const consent = await browser.open(await upstream.signIn(door.href, 'rider-ada'));
    const end = await browser.follow(await browser.post(consent.url, { do: 'allow', csrf: csrfOf(consent.page) }));
    expect(new URL(end.url).searchParams.has('code')).toBe(true);
  });

  test('who cancels there is told so', async () => {
    const browser = new TestBrowser(origin);
    const { door } = await toTheDoor(browser);
    const state = door.searchParams.get('state')!;
    const query = new URLSearchParams({ error: 'access_denied', state, iss: upstream.issuer });
    const back = await browser.open(`${origin}/oauth/sign-in-callback?${query}`);
    expect([back.response.status, back.page]).toEqual([403, expect.stringContaining('cancelled or refused')]);
    expect((await browser.open(tryAgain(back.page))).page).toContain('Continue to');
  });

  test('may bring back any text: the log has words of ours, and 20 lines of a kind a minute', async () => {
    service.log.length = 0;
    const browser = new TestBrowser(origin);
    const { url } = await toTheDoor(browser);
    const reasons = ['login_required', 'temporarily_unavailable', 'other'];
    for (let i = 0; i < 75; i++) {
      const sent = await browser.get(`${url}/start`);
      const state = new URL(sent.headers.get('location')!).searchParams.get('state')!;
      const error = reasons[i % 3]!.replace('other', `stranger ${'x'.repeat(2000)}`);
      const query = new URLSearchParams({ error, error_description: 'stranger', error_uri: 'stranger', state });
      await browser.get(`${origin}/oauth/sign-in-callback?${query}&iss=${encodeURIComponent(upstream.issuer)}`);
    }
    const lines = service.log.filter((line) => line.includes('SIGN_IN_ISSUER'));
    expect(lines.join('').includes('stranger')).toBe(false);
    const logged = reasons.map((reason) => lines.filter((line) => line.includes(`(${reason})`)).length);
    expect([logged, lines.length]).toEqual([[20, 20, 20], 60]);
  });

  test('while it is not known who exists is told so, and goes on where they were', async () => {
    const browser = new TestBrowser(origin);
    const { door } = await toTheDoor(browser);
    const back = await upstream.signIn(door.href, 'rider-ada');
    service.riders.away = true;
    const away = await browser.open(back);
    service.riders.away = false;
    expect([away.response.status, away.page]).toEqual([503, expect.stringContaining('not available right now')]);
    expect((await browser.open(back)).page).toContain('interaction_expired');
    const again = await browser.open(tryAgain(away.page));
    const sent = await browser.get(/href="([^"]+\/start)"/.exec(again.page)![1]!);
    const consent = await browser.open(await upstream.signIn(sent.headers.get('location')!, 'rider-ada'));
    expect(consent.page).toContain('Ada Lovelace');
  });
});

describe('an answer from the ride-management system', () => {
  const changed = async (change: (params: URLSearchParams, other: URLSearchParams) => void, same = true) => {
    const browser = new TestBrowser(origin);
    const { door } = await toTheDoor(browser);
    const back = new URL(await upstream.signIn(door.href, 'rider-ada'));
    const otherDoor = await toTheDoor(new TestBrowser(origin));
    const other = new URL(await upstream.signIn(otherDoor.door.href, 'rider-bo'));
    change(back.searchParams, other.searchParams);
    const got = await (same ? browser : new TestBrowser(origin)).open(back.href);
    expect(got.page).not.toMatch(/Ada Lovelace|@bo\b/);
    return { status: got.response.status, page: got.page, browser, back };
  };

  test.each([
    ['without state', (params: URLSearchParams) => params.delete('state'), 400],
    ['with a state of nobody', (params: URLSearchParams) => params.set('state', 'x'), 400],
    [
      'with another browser’s state',
      (params: URLSearchParams, other: URLSearchParams) => params.set('state', other.get('state')!),
      400,
    ],
    [
      'with the code of another sign-in',
      (params: URLSearchParams, other: URLSearchParams) => params.set('code', other.get('code')!),
      403,
    ],
    ['with a code of nobody', (params: URLSearchParams) => params.set('code', 'x'), 403],
    ['without code', (params: URLSearchParams) => params.delete('code'), 403],
    ['of another issuer', (params: URLSearchParams) => params.set('iss', 'https://other.example'), 403],
    ['without issuer', (params: URLSearchParams) => params.delete('iss'), 403],
  ])('%s is refused', async (_, change, status) => {
    expect((await changed(change)).status).toBe(status);
  });

  test('in a browser that did not begin is refused', async () => {
    expect((await changed(() => {}, false)).status).toBe(400);
  });

  test('is taken once', async () => {
    const browser = new TestBrowser(origin);
    const { door } = await toTheDoor(browser);
    const back = await upstream.signIn(door.href, 'rider-ada');
    const answers = await Promise.all([browser.get(back), browser.get(back), browser.get(back)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([303, 400, 400]);
    expect((await browser.get(back)).status).toBe(400);
  });

  test('does not sign a browser in whose sign-in page is not its own', async () => {
    const [victim, attacker] = [new TestBrowser(origin), new TestBrowser(origin)];
    const { url } = await toTheDoor(attacker);
    const start = await victim.get(`${url}/start`);
    expect(start.status).toBe(400);
  });
});

test('in a browser without script, a rider goes there and back, and a stranger is told so', async () => {
  const browser = await launchBrowser();
  const page = await (await browser.newContext({ javaScriptEnabled: false })).newPage();
  const signInAs = async (login: string): Promise<void> => {
    await page.locator('input[name=login]').fill(login);
    await page.locator('input[name=password]').fill('any');
    await page.locator('button[type=submit]').click();
    await page.locator('button[type=submit]').click();
  };
  const heading = () => page.getByRole('heading', { level: 1 }).innerText();
  const there = page.getByRole('link', { name: `Continue to ${new URL(upstream.issuer).host}` });
  await page.goto(authorizeUrl(origin, client, newPkce()));
  await there.click();
  await signInAs('stranger');
  expect(await heading()).toBe('There is no rider for this account');
  await page.context().clearCookies({ name: /^_(session|interaction)/ });
  await page.getByRole('link', { name: 'Use another account' }).click();
  await signInAs('rider-ada');
  expect(await heading()).toBe('Let Test app read your rides?');
  // Nobody listens at the app's address.
  const back = page.waitForRequest((request) => request.url().startsWith('http://127.0.0.1:9/callback'));
  await page.getByRole('button', { name: 'Allow', exact: true }).click();
  expect(new URL((await back).url()).searchParams.has('code')).toBe(true);
  await browser.close();
});

// docs/rules.md#picking-a-rider
test('no rider can be picked where riders have to prove who they are', async () => {
  const browser = new TestBrowser(origin);
  const { url, page } = await toTheDoor(browser);
  const posted = await browser.post(url, { do: 'pick', rider: 'rider-ada', csrf: csrfOf(page) });
  expect([posted.status, posted.headers.get('location')]).toEqual([403, null]);
});

test('a ride-management system that is away is said to be, and used again when it is back', async () => {
  const own = await startBoth();
  await own.upstream.stop();
  const app = await register(own.service.origin);
  const browser = new TestBrowser(own.service.origin);
  const at = await browser.open(authorizeUrl(own.service.origin, app, newPkce()));
  const start = /href="([^"]+\/start)"/.exec(at.page)![1]!;
  const away = await browser.get(start);
  expect([away.status, await away.text()]).toEqual([502, expect.stringContaining('can’t be reached')]);
  await own.upstream.start();
  const sent = await browser.get(start);
  expect(sent.status).toBe(303);
  const back = await own.upstream.signIn(sent.headers.get('location')!, 'rider-ada');
  await own.upstream.stop();
  const lost = await browser.get(back);
  expect(await lost.text()).toContain(`href="${new URL(at.url).pathname}">Try again`);
  expect([lost.status, own.service.log.join('').includes(new URL(back).searchParams.get('code')!)]).toEqual([
    502,
    false,
  ]);
  await own.service.close();
});

test('the way to the ride-management system is limited by address', async () => {
  const store = memorySignInState();
  const [port] = await freePorts(1);
  const elsewhere = await startRideManagement({ redirectUri: `http://127.0.0.1:${port}/oauth/sign-in-callback` });
  const own = await startSignInService({ port: port!, who: { upstream: elsewhere }, store });
  const browser = new TestBrowser(own.origin);
  const at = await browser.open(authorizeUrl(own.origin, await register(own.origin), newPkce()));
  const start = /href="([^"]+\/start)"/.exec(at.page)![1]!;
  expect((await browser.get(start)).status).toBe(303);
  for (let i = 0; i < 600; i++) await rateLimits(store).authorize.hit('127.0.0.1');
  const busy = await browser.get(start);
  expect([busy.status, Number(busy.headers.get('retry-after')) <= 60]).toEqual([429, true]);
  await own.close();
  await elsewhere.stop();
});

test('another kind of provider will do: secrets by form, ES256', async () => {
  const own = await startBoth({ authMethod: 'client_secret_post', alg: 'ES256' });
  const app = await register(own.service.origin);
  const browser = new TestBrowser(own.service.origin);
  const at = await browser.open(authorizeUrl(own.service.origin, app, newPkce()));
  const sent = await browser.get(/href="([^"]+\/start)"/.exec(at.page)![1]!);
  const back = await own.upstream.signIn(sent.headers.get('location')!, 'rider-cy');
  expect((await browser.open(back)).page).toContain('Cyrus');
  expect(await approve(browser, authorizeUrl(own.service.origin, app, newPkce()))).toMatchObject({ port: '9' });
  await own.service.close();
  await own.upstream.stop();
});
