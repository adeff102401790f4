import { describe, expect, test } from 'vitest';
import { providerTrouble, troubles } from '../../../../api/sign-in/pages/error-page.ts';
import { connectedAppsPage } from '../../../../api/sign-in/pages/pages.ts';
import { approve, callback, nights } from '../../../support/sign-in/sign-in-flow.ts';
import { startSignInService } from '../../../support/sign-in/sign-in-service.ts';
import { newPkce, nextOf, type Opened, TestBrowser } from '../../../support/sign-in/test-browser.ts';

const service = await startSignInService({
  clients: [
    { client_id: 'named', redirect_uris: [callback] },
    { client_id: 'says-web', redirect_uris: [callback], application_type: 'web' },
    { client_id: 'site', redirect_uris: ['https://site.example/cb'], application_type: 'web' },
  ].map((client) => ({ ...client, token_endpoint_auth_method: 'none' })),
});
const { origin, register, authorizeUrl, redeem } = service;
const client = await register({ client_name: 'Evil <script>alert(1)</script> "app"' });

type Params = Record<string, string>;
async function begin(browser = new TestBrowser(origin), app = client, more: Params = {}, pkce = newPkce()) {
  return { browser, ...(await browser.open(authorizeUrl(app, pkce, more))) };
}
async function consent() {
  const { browser, url } = await begin();
  return { browser, ...(await browser.submit(url, { do: 'pick', rider: 'rider-cy' })) };
}
const searchOf = ({ url }: Opened) => Object.fromEntries(new URL(url).searchParams);

describe('every page', () => {
  test('can’t be framed, runs no script, is not kept, and shows what others wrote as text', async () => {
    const { browser, ...began } = await begin();
    for (const { response, page } of [
      began,
      await consent(),
      await browser.open(`${origin}/oauth/authorize?client_id=<script>alert(1)</script>`),
      await browser.open(`${origin}/oauth/sign-in/nothing`),
      await browser.open(`${origin}/oauth/sign-out`),
    ]) {
      const headers = Object.fromEntries(response.headers);
      expect(headers).toMatchObject({
        'x-frame-options': 'DENY',
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'same-origin',
        'cache-control': 'no-store',
        'permissions-policy': 'camera=(), geolocation=(), microphone=()',
        'content-type': 'text/html; charset=utf-8',
      });
      for (const rule of ['default-src', 'frame-ancestors', 'base-uri'])
        expect(headers['content-security-policy']).toContain(`${rule} 'none'`);
      expect(page).toContain('<meta name="robots" content="noindex">');
      expect(page).toContain('<html lang="en">');
      expect(page).not.toMatch(/<script|javascript:|onclick|<b>&/i);
    }
  });

  // docs/rules.md#consent
  test('that asks for consent names the app, what it may see, the rider and where the answer goes', async () => {
    const { page, response } = await consent();
    expect(page).toContain('Evil &#60;script&#62;alert(1)&#60;/script&#62; &#34;app&#34;');
    expect(page).toContain('Cyrus &#60;b&#62;&#38; &#34;Co&#34;&#60;/b&#62;');
    expect(page).toContain('nobody here has checked that');
    expect(page).toContain('an app on this device');
    for (const covered of ['ride calendar', 'own nights', 'friends', 'flagged', 'up to 90 days'])
      expect(page).toContain(covered);
    // No address of an app: a form ends at a page of ours, which leads on.
    expect(response.headers.get('content-security-policy')).toContain("form-action 'self';");
  });

  // docs/rules.md#head
  test('answers HEAD as GET without the body', async () => {
    const { browser, url } = await begin();
    const request = { headers: { cookie: browser.cookieHeader(url) } };
    for (const page of [url, authorizeUrl(client), `${origin}/oauth/sign-out`]) {
      const got = await fetch(page, { ...request, redirect: 'manual' });
      const head = await fetch(page, { ...request, method: 'HEAD', redirect: 'manual' });
      expect([head.status, await head.text()]).toEqual([got.status, '']);
    }
  });
});

describe('a form', () => {
  const foreign = { status: 403, next: null, told: true };
  test.each([
    [{ 'sec-fetch-site': 'same-site' }, foreign],
    [{ 'sec-fetch-site': 'cross-site', origin: 'ours' }, foreign],
    // Older browsers say no more than this.
    [{ origin: 'https://evil.example' }, foreign],
    [{ origin: 'ours' }, { status: 200, next: expect.stringContaining('/oauth/authorize/'), told: false }],
  ] as [Record<string, string>, object][])('with %j is taken from our own pages only', async (given, answer) => {
    const { browser, url } = await consent();
    const headers = { ...given, cookie: browser.cookieHeader(url), ...(given.origin === 'ours' && { origin }) };
    const request = { method: 'POST', body: new URLSearchParams({ do: 'allow' }), headers };
    const posted = await fetch(url, { ...request, redirect: 'manual' });
    const page = await posted.text();
    expect({ status: posted.status, next: nextOf(page), told: page.includes('<code>forged</code>') }).toEqual(answer);
  });

  test('of an interaction serves only the browser that began it, and works once', async () => {
    const { browser, url } = await consent();
    // Nor with the cookie of one's own interaction, sent where a browser wouldn't.
    const own = await consent();
    const headers = { cookie: own.browser.cookieHeader(own.url) };
    expect((await own.browser.post(url, { do: 'allow' }, headers)).status).toBe(400);
    expect((await own.browser.submit(url, { do: 'allow' })).page).toContain('interaction_expired');
    expect(searchOf(await browser.submit(url, { do: 'allow' }))).toHaveProperty('code');
    const late = await browser.submit(url, { do: 'allow' });
    expect([late.response.status, late.page]).toEqual([400, expect.stringContaining('interaction_expired')]);
  });

  test.each<[string, string, number, RequestInit]>([
    ['is huge', 'application/x-www-form-urlencoded', 413, { body: 'a='.padEnd(200_000, 'x') }],
    ['is JSON', 'application/json', 415, { body: '{"do":"allow"}' }],
  ])('that %s is refused', async (_, type, status, body) => {
    const { browser, url } = await consent();
    const request = { method: 'POST', headers: { cookie: browser.cookieHeader(url), 'content-type': type }, ...body };
    expect((await fetch(url, request)).status).toBe(status);
    const token = await fetch(`${origin}/oauth/token`, request);
    expect([token.status, await token.json()]).toMatchObject([status, { error: 'invalid_request' }]);
    const headers = { connection: 'close', 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' };
    expect(Object.fromEntries(token.headers)).toMatchObject(headers);
  });

  test('may do only what its page offers', async () => {
    const { browser, url } = await begin();
    for (const act of ['allow', 'deny', 'switch', 'constructor'])
      expect([act, (await browser.submit(url, { do: act })).response.status]).toEqual([act, 400]);
    for (const rider of ['nobody', 'a/b', '__proto__']) {
      const { response, page } = await browser.submit(url, { do: 'pick', rider });
      // To look at what was typed.
      const typed = expect.stringMatching(`name="rider" value="${rider}"[^>]* maxlength="64"`);
      expect([response.status, page]).toEqual([422, typed]);
    }
  });
});

describe('a rider', () => {
  test('who cancels sends the app away with access_denied', async () => {
    const { browser, url, page } = await begin();
    expect(page).toContain('name="do" value="cancel">Cancel</button>');
    const end = await browser.submit(url, { do: 'cancel' });
    expect(searchOf(end)).toMatchObject({ error: 'access_denied', iss: origin });
  });

  // docs/rules.md#consent
  test('is asked each time by an app on their device, though it calls itself a web app, and once by a web app', async () => {
    const browser = new TestBrowser(origin);
    const onDevice = { client_id: 'says-web' };
    await approve(browser, authorizeUrl(onDevice));
    expect((await begin(browser, onDevice)).page).toContain('will be able to see');
    // An app without pages is told so.
    const silent = await begin(browser, onDevice, { prompt: 'none' });
    expect(searchOf(silent).error).toBeOneOf(['consent_required', 'interaction_required']);
    const [site, at] = [{ client_id: 'site' }, { redirect_uri: 'https://site.example/cb' }];
    await browser.submit((await begin(browser, site, at)).url, { do: 'allow' });
    expect(searchOf(await begin(browser, site, at))).toHaveProperty('code');
  });

  const [native, web] = [{ client_id: 'named' }, { client_id: 'site', redirect_uri: 'https://site.example/cb' }];
  const anew = { prompt: 'login' };
  test.each([
    ['a native app', native, ['who', 'switch', 'who', 'allow']],
    ['a web app that asks for a new sign-in of who is signed in', { ...web, ...anew }, ['who', 'allow'], 'rider-cy'],
  ])('signs in once and says yes once for %s', async (_, { client_id, ...more }, steps, signedIn?: string) => {
    const browser = new TestBrowser(origin);
    if (signedIn !== undefined) await approve(browser, authorizeUrl(client), signedIn);
    const riders = ['rider-cy', 'rider-ada'].slice(steps.includes('switch') ? 0 : 1);
    const pkce = newPkce();
    let at: Opened = await begin(browser, { client_id }, more, pkce);
    for (const step of steps) {
      expect(at.page).toContain(step === 'who' ? 'Pick any rider' : 'will be able to see');
      at = await browser.submit(at.url, step === 'who' ? { do: 'pick', rider: riders.shift()! } : { do: step });
    }
    const redirectUri = 'redirect_uri' in more ? { redirect_uri: more.redirect_uri } : {};
    const { body } = await redeem({ client_id }, searchOf(at).code!, pkce.verifier, redirectUri);
    expect(await nights(service.baseUrl, body.access_token)).toEqual({ status: 200, rider: 'rider-ada' });
  });
});

test('an app is connected since its oldest grant, until the end of its last, by days in UTC', () => {
  const times = { oldestMs: Date.UTC(2026, 0, 31, 23, 30), untilMs: Date.UTC(2026, 4, 1, 0, 30) };
  const [rider, none] = [{ handle: 'ada', name: null }, new Set<string>()];
  const apps = [{ client: 'site', name: 'Site', ...times }];
  const { body } = connectedAppsPage({ rider, apps, knownClients: none, consentSkippers: none });
  expect(body.text).toContain(
    'since <time datetime="2026-01-31">January 31, 2026</time>, until <time datetime="2026-05-01">May 1, 2026</time>',
  );
});

test('an app’s errors have words of their own each, and the same where it wanted to go on without a page', () => {
  const titleOf = (code: string) => providerTrouble(code, 400).title;
  const silent = ['login_required', 'consent_required', 'interaction_required'].map(titleOf);
  const ofApps = ['invalid_client', 'invalid_redirect_uri', 'invalid_client_metadata', 'invalid_scope', 'another'];
  const others = [...ofApps, 'temporarily_unavailable', 'server_error'].map(titleOf);
  expect([new Set(silent).size, new Set([...silent, ...others]).size]).toEqual([1, others.length + 1]);
});

test('each trouble has a status, and a code for the makers of the app', () => {
  const told = Object.values(troubles).map(({ status, code }) => `${status} ${code}`);
  expect(told).toEqual([
    ...['400 interaction_expired', '403 forged', '400 invalid_request', '429 rate_limited'],
    ...['503 temporarily_unavailable', '502 upstream_unavailable', '403 upstream_refused', '403 no_such_rider'],
    '421 misdirected',
  ]);
});
