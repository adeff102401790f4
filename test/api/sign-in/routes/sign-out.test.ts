import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { approve, callback } from '../../../support/sign-in/sign-in-flow.ts';
import { startSignInService } from '../../../support/sign-in/sign-in-service.ts';
import { newPkce, nextOf, TestBrowser } from '../../../support/sign-in/test-browser.ts';

const site = {
  client_id: 'site',
  client_name: 'Portland Rides',
  redirect_uris: ['https://site.example/cb'],
  post_logout_redirect_uris: ['https://site.example/bye', 'https://site.example/bye?x=1'],
};
const native = {
  client_id: 'native',
  redirect_uris: [callback],
  post_logout_redirect_uris: ['http://127.0.0.1/bye', 'com.example.app:/bye'],
};
const document = 'https://app.example/client.json';

let fetched = 0;
const service = await startSignInService({
  clients: [site, native].map((client) => ({ ...client, token_endpoint_auth_method: 'none' })),
  metadataFetch: async () => {
    fetched++;
    return Response.json({ ...site, client_id: document, token_endpoint_auth_method: 'none' });
  },
});
const { origin, told, store, register, authorizeUrl, redeem, refresh } = service;
beforeEach(() => {
  told.length = 0;
});

/** A browser whose rider is signed in. */
async function signedInBrowser(): Promise<TestBrowser> {
  const browser = new TestBrowser(origin);
  await approve(browser, authorizeUrl(native));
  return browser;
}
const isSignedIn = async (browser: TestBrowser) =>
  (await browser.open(`${origin}/oauth/sign-out`)).page.includes('Sign out?');
const signOutUrl = (params: Record<string, string> = {}) => `${origin}/oauth/sign-out?${new URLSearchParams(params)}`;
/** The fields that the form of a page would send. */
function fieldsOf(page: string): Record<string, string> {
  const fields = [...page.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)">/g)];
  return Object.fromEntries(fields.map(([, name, value]) => [name, value!.replaceAll('&#38;', '&')]));
}
/** Opens the page that an app sends its rider to, and presses its button. */
async function signOut(browser: TestBrowser, params: Record<string, string>) {
  const asked = await browser.open(signOutUrl(params));
  const posted = await browser.post(`${origin}/oauth/sign-out`, fieldsOf(asked.page));
  const location = posted.headers.get('location');
  const page = location === null ? await posted.text() : (await browser.open(location)).page;
  return { asked: asked.page, posted, page };
}

// docs/rules.md#signing-out
describe('an app that sends its rider to sign out', () => {
  const back = { client_id: 'site', post_logout_redirect_uri: 'https://site.example/bye' };

  test('of the operator’s file is named, and gets its rider back with its state, once they pressed the button', async () => {
    const [browser, { client, tokens }] = [await signedInBrowser(), await service.signedIn()];
    told.length = 0;
    const { asked, posted, page } = await signOut(browser, { ...back, state: 'a b&c', id_token_hint: 'x' });
    expect(asked).toContain('<strong>Portland Rides</strong> asks you to sign out');
    expect(asked).toContain('site.example');
    expect(nextOf(asked)).toBeNull();
    expect(posted.status).toBe(200);
    // No script reads a cookie of ours.
    const cookies = posted.headers.getSetCookie();
    expect([cookies.length > 0, cookies.filter((line) => !/; httponly(;|$)/i.test(line))]).toEqual([true, []]);
    // The riders' provider may know them for longer than browsers keep a cookie, which is 400 days.
    expect(cookies.join()).toMatch(/_signed_out=1;[^,]* Max-Age=34560000/);
    expect(nextOf(page)).toBe('https://site.example/bye?state=a+b%26c');
    // For browsers that do not go on by themselves.
    expect(page).toContain('Go on to site.example');
    expect(told).toEqual([['sign_out', { client: 'site' }]]);
    expect(await isSignedIn(browser)).toBe(false);
    // Apps stay connected.
    expect((await refresh(client, tokens.refresh_token)).status).toBe(200);
  });

  test('may have an address on the rider’s device, with any port', async () => {
    const uri = 'http://127.0.0.1:54321/bye';
    const { page } = await signOut(await signedInBrowser(), { client_id: 'native', post_logout_redirect_uri: uri });
    expect(nextOf(page)).toBe(uri);
  });

  test('that introduced itself gets a link that names where it leads, and no redirect', async () => {
    const post_logout_redirect_uri = 'https://app.example/bye';
    const addresses = { post_logout_redirect_uris: [post_logout_redirect_uri] };
    const { client_id } = await register({ client_name: 'Night Rider', ...addresses });
    const [browser, params] = [await signedInBrowser(), { client_id, post_logout_redirect_uri, state: 's' }];
    const { asked, page } = await signOut(browser, params);
    expect(asked).toContain('<strong>Night Rider</strong> asks you to sign out');
    expect(nextOf(page)).toBeNull();
    expect(page).toContain('<a class="button" href="https://app.example/bye?state=s">Go on to app.example</a>');
    expect(await isSignedIn(browser)).toBe(false);
  });

  test('sends nobody anywhere who is not signed in', async () => {
    const browser = new TestBrowser(origin);
    const [asked, pressed] = [await browser.open(signOutUrl(back)), await browser.submit(signOutUrl(), back)];
    for (const { page } of [asked, pressed])
      expect([nextOf(page), page]).toEqual([null, expect.stringContaining('Go on to site.example')]);
    expect(told).toEqual([]);
  });

  test.each<Record<string, string>>([
    { post_logout_redirect_uri: 'https://site.example@evil.example/bye' },
    // What another app registered, and what this one did to sign in.
    { post_logout_redirect_uri: 'com.example.app:/bye' },
    { post_logout_redirect_uri: 'https://site.example/cb' },
    { client_id: 'nobody' },
  ])('to an address that is not its own has its rider stay here: %j', async (wrong) => {
    const { asked, page } = await signOut(await signedInBrowser(), { ...back, ...wrong });
    expect(asked).toContain('has not registered');
    expect(nextOf(page)).toBeNull();
    expect([...(asked + page).matchAll(/href="(?!\/|data:)/g)]).toEqual([]);
    expect(page).toContain('You are signed out');
  });

  test('has no document fetched for that: its address says whose it is', async () => {
    const { asked, page } = await signOut(await signedInBrowser(), { ...back, client_id: document });
    expect(asked).toContain('<strong>app.example</strong> asks you to sign out');
    expect(nextOf(page)).toBeNull();
    expect(fetched).toBe(0);
  });
});

// docs/rules.md#signing-out
test('no other site signs a rider out: not by a link, not by a form', async () => {
  const browser = await signedInBrowser();
  await browser.open(signOutUrl({ client_id: 'site' }));
  for (const site of ['cross-site', 'same-site', 'none'])
    expect((await browser.post(`${origin}/oauth/sign-out`, {}, { 'sec-fetch-site': site })).status).toBe(403);
  expect(await isSignedIn(browser)).toBe(true);
});

test('a rider who signed out in another tab can’t be asked for consent any more, and their name is not shown', async () => {
  const browser = await signedInBrowser();
  const client = await register();
  const asked = await browser.open(authorizeUrl(client));
  expect(asked.page).toContain('Ada Lovelace');
  await signOut(browser, {});
  const late = await browser.open(asked.url);
  expect([late.response.status, late.page.includes('Ada Lovelace')]).toEqual([400, false]);
  const grants = (await store.ofAccount('rider-ada', 'Grant')).length;
  expect((await browser.submit(asked.url, { do: 'allow' })).page).toContain('This sign-in is over');
  expect(await store.ofAccount('rider-ada', 'Grant')).toHaveLength(grants);
});

// docs/rules.md#consent
test('a double click on Allow makes one connection', async () => {
  const browser = await signedInBrowser();
  const [client, pkce] = [await register(), newPkce()];
  const asked = await browser.open(authorizeUrl(client, pkce));
  const before = (await store.ofAccount('rider-ada', 'Grant')).length;
  const clicks = await Promise.all([1, 2].map(() => browser.post(asked.url, { do: 'allow' })));
  const end = await browser.open(nextOf(await clicks[1]!.text())!);
  const code = new URL(end.url).searchParams.get('code')!;
  expect((await redeem(client, code, pkce.verifier)).status).toBe(200);
  expect(await store.ofAccount('rider-ada', 'Grant')).toHaveLength(before + 1);
});

// docs/rules.md#sessions
test('a session lasts twelve hours from its login, however much it is used', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const later = (hours: number) => vi.setSystemTime(Date.now() + hours * 3_600_000);
  const browser = await signedInBrowser();
  for (const hours of [5, 6]) {
    later(hours);
    await approve(browser, authorizeUrl(native));
    expect(await isSignedIn(browser)).toBe(true);
  }
  // A page may be left open for a quarter of an hour.
  const [left, late] = [await browser.open(authorizeUrl(native)), await browser.open(authorizeUrl(native))];
  later(0.24);
  expect((await browser.submit(left.url, { do: 'allow' })).url).toContain('code=');
  later(0.02);
  expect((await browser.submit(late.url, { do: 'allow' })).page).toContain('This sign-in is over');
  later(0.8);
  expect(await isSignedIn(browser)).toBe(false);
  expect((await browser.open(authorizeUrl(native))).page).toContain('Pick any rider');
});
