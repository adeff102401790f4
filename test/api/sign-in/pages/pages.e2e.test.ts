import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  approve,
  authorizeUrl,
  type Client,
  callback,
  nights,
  redeem,
  register,
} from '../../../support/sign-in/sign-in-flow.ts';
import { startSignInService, type TestService } from '../../../support/sign-in/sign-in-service.ts';
import { csrfOf, newPkce, TestBrowser } from '../../../support/sign-in/test-browser.ts';

let service: TestService;
let origin: string;
let client: Client;
beforeAll(async () => {
  service = await startSignInService({
    clients: [
      { client_id: 'named', redirect_uris: [callback] },
      { client_id: 'says-web', redirect_uris: [callback], application_type: 'web' },
      { client_id: 'site', redirect_uris: ['https://site.example/cb'], application_type: 'web' },
    ].map((client) => ({ ...client, token_endpoint_auth_method: 'none' })),
  });
  origin = service.origin;
  client = await register(origin, { client_name: 'Evil <script>alert(1)</script> "app"' });
});
afterAll(async () => {
  await service.close();
});

const picker = async (browser = new TestBrowser(origin), more: Record<string, string> = {}) =>
  await browser.open(authorizeUrl(origin, client, newPkce(), more));
const consent = async (browser = new TestBrowser(origin)) => {
  const first = await picker(browser);
  const picked = await browser.post(first.url, { csrf: csrfOf(first.page), do: 'pick', rider: 'rider-cy' });
  const { url, response } = await browser.follow(picked);
  return { browser, url, page: await response.text(), response };
};

describe('every page', () => {
  test('can’t be framed, runs no script, is not kept, and shows what others wrote as text', async () => {
    const signedOut = await new TestBrowser(origin).get('/oauth/sign-out');
    const pages: [string, Response, string][] = [
      ['sign-in', (await picker()).response, (await picker()).page],
      ['consent', (await consent()).response, (await consent()).page],
      ['error', await fetch(`${origin}/oauth/authorize?client_id=<script>alert(1)</script>`), ''],
      ['expired', await fetch(`${origin}/oauth/sign-in/nothing`), ''],
      ['signed out', signedOut, await signedOut.text()],
    ];
    for (const [name, response, text] of pages) {
      const page = text === '' ? await response.text() : text;
      const headers = Object.fromEntries(response.headers);
      const policy = headers['content-security-policy']!;
      expect([name, headers]).toMatchObject([
        name,
        {
          'x-frame-options': 'DENY',
          'x-content-type-options': 'nosniff',
          'referrer-policy': 'same-origin',
          'cache-control': 'no-store',
          'content-type': 'text/html; charset=utf-8',
        },
      ]);
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).toContain("base-uri 'none'");
      expect(policy).not.toMatch(/unsafe|script-src [^;]/);
      expect(headers['access-control-allow-origin']).toBeUndefined();
      expect(page).toContain('<html lang="en">');
      expect(page).not.toMatch(/<script|javascript:|onclick|<b>&/i);
      expect(page.match(/<h1>/g)).toHaveLength(1);
    }
  });

  // docs/rules.md#consent
  test('that asks for consent names the app, what it may see, the rider and where the answer goes', async () => {
    const { page, response } = await consent();
    expect(page).toContain('Evil &#60;script&#62;alert(1)&#60;/script&#62; &#34;app&#34;');
    expect(page).toContain('Cyrus &#60;b&#62;&#38; &#34;Co&#34;&#60;/b&#62;');
    expect(page).toContain('nobody here has checked that');
    expect(page).toContain('an app on this device');
    for (const covered of ['ride calendar', 'own nights', 'friends', 'flagged']) expect(page).toContain(covered);
    expect(response.headers.get('content-security-policy')).toContain("form-action 'self' http://127.0.0.1:9 ");
  });

  test('names where its forms may end by way of its client’s redirects', async () => {
    for (const [uri, source] of [
      ['https://app.example/cb', 'https://app.example https:'],
      ['com.example.app:/cb', 'com.example.app:'],
      ['http://[::1]:7/cb', 'http: https:'],
    ] as const) {
      const app = await register(origin, { redirect_uris: [uri] });
      const browser = new TestBrowser(origin);
      const at = await browser.open(authorizeUrl(origin, app, newPkce(), { redirect_uri: uri }));
      expect(at.response.headers.get('content-security-policy')).toContain(`form-action 'self' ${source};`);
    }
  });
});

// docs/rules.md#head
test('HEAD of a page is GET without the body, and an address that a sign-in goes on by takes none', async () => {
  const browser = new TestBrowser(origin);
  const { url } = await picker(browser);
  const cookie = browser.cookieHeader(url);
  const authorize = authorizeUrl(origin, client, newPkce());
  for (const page of [url, authorize, `${origin}/oauth/connected-apps`, `${origin}/oauth/sign-out`]) {
    const [got, head] = await Promise.all(
      ['GET', 'HEAD'].map((method) => fetch(page, { method, headers: { cookie }, redirect: 'manual' })),
    );
    expect([page, head!.status, await head!.text()]).toEqual([page, got!.status, '']);
    expect(head!.headers.get('content-type')).toBe(got!.headers.get('content-type'));
  }
  const resume = `${origin}/oauth/authorize/${url.split('/').at(-1)}`;
  for (const once of [resume, `${url}/start`, `${origin}/oauth/sign-in-callback`])
    expect((await fetch(once, { method: 'HEAD' })).status).toBeOneOf([404, 405]);
});

test('a sign-in that is over, also by its success, has a way on, and so has a page that does not exist', async () => {
  const { browser, url, page } = await consent();
  await browser.follow(await browser.post(url, { do: 'allow', csrf: csrfOf(page) }));
  expect((await browser.post(url, { do: 'allow', csrf: csrfOf(page) })).status).toBe(400);
  const over = await browser.open(url);
  expect(over.page).toContain('interaction_expired');
  const nope = await fetch(`${origin}/oauth/nope`, { headers: { accept: 'text/html,*/*' } });
  for (const [status, shown] of [
    [over.response.status, over.page],
    [nope.status, await nope.text()],
  ] as const) {
    expect(status).toBeOneOf([400, 404]);
    expect(shown).toContain('href="/oauth/connected-apps">See your connected apps');
  }
  expect((await browser.open(`${origin}/oauth/connected-apps`)).page).toContain('You are signed in as');
  expect(nope.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
  const forPrograms = await fetch(`${origin}/oauth/nope`);
  expect([forPrograms.status, await forPrograms.json()]).toMatchObject([404, { error: 'not_found' }]);
});

describe('a form', () => {
  test.each([
    ['without its token', {}, {}],
    ['with another’s token', { csrf: 'A'.repeat(43) }, {}],
    ['sent from another site', undefined, { 'sec-fetch-site': 'cross-site' }],
    ['sent from a neighbour site', undefined, { 'sec-fetch-site': 'same-site' }],
    ['sent from nowhere', undefined, { 'sec-fetch-site': 'none' }],
  ] as [string, Record<string, string> | undefined, Record<string, string>][])(
    'of the consent page %s does nothing',
    async (_, form, headers) => {
      const { browser, url, page } = await consent();
      const forged = await browser.post(url, { do: 'allow', ...(form ?? { csrf: csrfOf(page) }) }, headers);
      expect([forged.status, forged.headers.get('location')]).toEqual([403, null]);
      expect(await forged.text()).toContain('csrf');
      const honest = await browser.post(url, { do: 'allow', csrf: csrfOf(page) });
      expect(honest.status).toBe(303);
    },
  );

  test('of an old browser is judged by its Origin', async () => {
    const { browser, url, page } = await consent();
    const post = async (from: string) => {
      const old: RequestInit = { method: 'POST', body: new URLSearchParams({ do: 'allow', csrf: csrfOf(page) }) };
      // Without Sec-Fetch-Site, which the test browser would send.
      const cookie = browser.cookieHeader(url);
      return (await fetch(url, { ...old, headers: { origin: from, cookie }, redirect: 'manual' })).status;
    };
    expect(await post('https://evil.example')).toBe(403);
    expect(await post('null')).toBe(403);
    expect(await post(origin)).toBe(303);
  });

  test('made for one interaction does not serve another', async () => {
    const [one, two] = [await consent(), await consent()];
    const forged = await two.browser.post(two.url, { do: 'allow', csrf: csrfOf(one.page) });
    expect(forged.status).toBe(403);
  });

  test('of an interaction serves only the browser that began it', async () => {
    const { url, page } = await consent();
    const thief = new TestBrowser(origin);
    await consent(thief);
    // Nor with the cookie of one's own interaction, sent where a browser wouldn't.
    const own = await consent();
    const cookie = own.browser.cookieHeader(own.url);
    const body = new URLSearchParams({ do: 'allow', csrf: csrfOf(page) });
    expect((await fetch(url, { headers: { cookie } })).status).toBe(400);
    expect((await fetch(url, { method: 'POST', headers: { cookie }, body, redirect: 'manual' })).status).toBe(400);
    for (const browser of [thief, new TestBrowser(origin)]) {
      const posted = await browser.post(url, { do: 'allow', csrf: csrfOf(page) });
      expect(posted.status).toBe(400);
      expect(await posted.text()).toContain('interaction_expired');
    }
  });

  test.each([
    ['is huge', 'a='.padEnd(200_000, 'x'), 'application/x-www-form-urlencoded', 413],
    ['is JSON', '{"do":"allow"}', 'application/json', 415],
    ['is a file', '--x\r\n', 'multipart/form-data; boundary=x', 415],
    ['has a type that is none', 'a=b', 'form', 415],
    ['has two types', 'a=b', 'text/plain, application/json', 415],
  ])('that %s is refused', async (_, body, type, status) => {
    const { browser, url } = await consent();
    const cookie = browser.cookieHeader(url);
    const posted = await fetch(url, { method: 'POST', body, headers: { cookie, 'content-type': type } });
    expect(posted.status).toBe(status);
    await posted.text();
    const token = await fetch(`${origin}/oauth/token`, { method: 'POST', body, headers: { 'content-type': type } });
    expect([token.status, await token.json()]).toMatchObject([status, { error: 'invalid_request' }]);
  });

  test('that does not say how huge it is, is refused once it is too long', async () => {
    const { browser, url } = await consent();
    for (const at of [url, `${origin}/oauth/token`]) {
      const body = new ReadableStream({
        start(controller) {
          for (let i = 0; i < 40; i++) controller.enqueue(new TextEncoder().encode('a=b&'.repeat(256)));
          controller.close();
        },
      });
      const headers = { cookie: browser.cookieHeader(url), 'content-type': 'application/x-www-form-urlencoded' };
      const posted = await fetch(at, { method: 'POST', body, headers, duplex: 'half' } as RequestInit);
      expect([at, posted.status]).toEqual([at, 413]);
    }
  });

  test('may do only what its page offers', async () => {
    const at = await picker();
    const browser = new TestBrowser(origin);
    const first = await picker(browser);
    for (const act of ['allow', 'deny', 'switch', '', 'constructor']) {
      const posted = await browser.post(first.url, { do: act, csrf: csrfOf(first.page), rider: 'rider-ada' });
      expect([act, posted.status]).toEqual([act, 400]);
    }
    expect(at.response.status).toBe(200);
    for (const rider of ['nobody', '', 'a/b', '__proto__', 'x'.repeat(100)]) {
      const posted = await browser.post(first.url, { do: 'pick', csrf: csrfOf(first.page), rider });
      const page = await posted.text();
      expect([posted.status, page]).toEqual([422, expect.stringContaining('There is no such rider')]);
      // To look at what was typed.
      expect(page).toContain(`name="rider" value="${rider}"`);
    }
  });
});

describe('a rider', () => {
  test('who says no sends the app away with access_denied', async () => {
    const { browser, url, page } = await consent();
    const { url: end } = await browser.follow(await browser.post(url, { do: 'deny', csrf: csrfOf(page) }));
    expect(Object.fromEntries(new URL(end).searchParams)).toMatchObject({ error: 'access_denied', iss: origin });
  });

  test('who cancels at the sign-in page does so too', async () => {
    const browser = new TestBrowser(origin);
    const first = await picker(browser);
    const { url } = await browser.follow(await browser.post(first.url, { do: 'cancel', csrf: csrfOf(first.page) }));
    expect(new URL(url).searchParams.get('error')).toBe('access_denied');
  });

  test('who goes back to a page that took too long is told so', async () => {
    const quick = await startSignInService({ lifetimes: { interaction: 4 } });
    const late = new TestBrowser(quick.origin);
    const at = await late.open(authorizeUrl(quick.origin, await register(quick.origin), newPkce()));
    await sleep(4100);
    const posted = await late.post(at.url, { do: 'pick', rider: 'rider-ada', csrf: csrfOf(at.page) });
    expect([posted.status, await posted.text()]).toEqual([400, expect.stringContaining('interaction_expired')]);
    await quick.close();
  });

  // docs/rules.md#consent
  test('who is signed in is asked for consent only, and an app without pages is told that consent is needed', async () => {
    const { browser, url, page } = await consent();
    await browser.follow(await browser.post(url, { do: 'allow', csrf: csrfOf(page) }));
    expect((await picker(browser)).page).toContain('will be able to see');
    const silently = (app: Client) => browser.open(authorizeUrl(origin, app, newPkce(), { prompt: 'none' }));
    const needed = ['consent_required', 'interaction_required'];
    const named = await silently({ client_id: 'named' });
    expect(new URL(named.url).searchParams.get('error')).toBeOneOf(needed);
    // A stranger's app gets no answer that the rider has not seen.
    const strange = await silently(client);
    expect([strange.response.status, strange.response.headers.get('location')]).toEqual([400, null]);
    expect(/<code>(\w+)<\/code>/.exec(strange.page)?.[1]).toBeOneOf(needed);
  });

  // docs/rules.md#consent
  test('is asked each time by an app on their device, though it calls itself a web app', async () => {
    const web = { client_id: 'says-web' };
    const site = { client_id: 'site' };
    const browser = new TestBrowser(origin);
    const ask = (app: Client, more: Record<string, string> = {}) =>
      browser.open(authorizeUrl(origin, app, newPkce(), more));
    const registered = await register(origin, { application_type: 'web' });
    expect(registered).toMatchObject({ application_type: 'native' });
    const https = { redirect_uris: ['https://site.example/cb'] };
    expect(await register(origin, https)).toMatchObject({ application_type: 'web' });
    expect(await register(origin, { ...https, application_type: 'web' })).toMatchObject({ application_type: 'web' });
    expect(await register(origin, { ...https, application_type: 'native' })).toMatchObject({
      application_type: 'native',
    });
    for (const app of [web, registered]) {
      await approve(browser, authorizeUrl(origin, app, newPkce()));
      expect((await ask(app)).page).toContain('will be able to see');
    }
    const at = { redirect_uri: 'https://site.example/cb' };
    const first = await ask(site, at);
    await browser.post(first.url, { do: 'allow', csrf: csrfOf(first.page) }).then((next) => browser.follow(next));
    expect(new URL((await ask(site, at)).url).searchParams.has('code')).toBe(true);
  });

  const [native, web] = [{ client_id: 'named' }, { client_id: 'site', redirect_uri: 'https://site.example/cb' }];
  const anew = { prompt: 'login' };
  test.each([
    ['a native app', native, ['who', 'switch', 'who', 'allow']],
    ['a web app', web, ['who', 'switch', 'who', 'allow']],
    ['a native app that asks for a new sign-in', { ...native, ...anew }, ['who', 'allow']],
    ['a web app that asks for a new sign-in', { ...web, ...anew }, ['who', 'allow']],
    ['a native app that asks for it of who is signed in', { ...native, ...anew }, ['who', 'allow'], 'rider-cy'],
    ['a web app that asks for it of who is signed in', { ...web, ...anew }, ['who', 'allow'], 'rider-cy'],
  ])('signs in once and says yes once for %s', async (_, { client_id, ...more }, steps, signedIn?: string) => {
    const browser = new TestBrowser(origin);
    if (signedIn !== undefined) await approve(browser, authorizeUrl(origin, client, newPkce()), signedIn);
    const riders = ['rider-cy', 'rider-ada'].slice(steps.includes('switch') ? 0 : 1);
    const pkce = newPkce();
    let at = await browser.open(authorizeUrl(origin, { client_id }, pkce, more));
    for (const step of steps) {
      const form = step === 'who' ? { do: 'pick', rider: riders.shift()! } : { do: step };
      expect(at.page).toContain(step === 'who' ? 'Pick any rider' : 'will be able to see');
      const next = await browser.follow(await browser.post(at.url, { ...form, csrf: csrfOf(at.page) }));
      at = { ...next, page: next.response.headers.has('location') ? '' : await next.response.text() };
    }
    const redirectUri = 'redirect_uri' in more ? { redirect_uri: more.redirect_uri } : {};
    const code = new URL(at.url).searchParams.get('code')!;
    const { body } = await redeem(origin, { client_id }, code, pkce.verifier, redirectUri);
    expect(await nights(service.baseUrl, body.access_token)).toEqual({ status: 200, rider: 'rider-ada' });
  });

  test('with two tabs signs two apps in, whatever the order', async () => {
    const other = await register(origin, { client_name: 'Another app' });
    const [browser, pkces] = [new TestBrowser(origin), [newPkce(), newPkce()]];
    const apps = [client, other];
    const tabs = [];
    for (const [i, app] of apps.entries()) tabs.push(await browser.open(authorizeUrl(origin, app, pkces[i]!)));
    const asked = [];
    for (const tab of tabs) {
      const form = { do: 'pick', rider: 'rider-ada', csrf: csrfOf(tab.page) };
      asked.push(await browser.follow(await browser.post(tab.url, form)));
    }
    for (const i of [1, 0]) {
      const page = await (await browser.get(asked[i]!.url)).text();
      const end = await browser.follow(await browser.post(asked[i]!.url, { do: 'allow', csrf: csrfOf(page) }));
      const code = new URL(end.url).searchParams.get('code')!;
      expect((await redeem(origin, apps[i]!, code, pkces[i]!.verifier)).status).toBe(200);
    }
  });

  test('who signs in as somebody else in a second tab is them there, and the first tab’s sign-in is over', async () => {
    const browser = new TestBrowser(origin);
    const [first, second] = [await picker(browser), await picker(browser)];
    const pick = async (tab: { url: string; page: string }, rider: string) => {
      const next = await browser.follow(await browser.post(tab.url, { do: 'pick', rider, csrf: csrfOf(tab.page) }));
      return { url: next.url, page: await next.response.text() };
    };
    const ada = await pick(first, 'rider-ada');
    expect(ada.page).toContain('Ada Lovelace');
    const cy = await pick(second, 'rider-cy');
    expect(cy.page).toContain('Cyrus');
    const late = await browser.follow(await browser.post(ada.url, { do: 'allow', csrf: csrfOf(ada.page) }));
    expect([late.response.status, await late.response.text()]).toEqual([
      400,
      expect.stringContaining('This sign-in is over'),
    ]);
    const allowed = await browser.follow(await browser.post(cy.url, { do: 'allow', csrf: csrfOf(cy.page) }));
    expect(new URL(allowed.url).searchParams.has('code')).toBe(true);
  });
});
