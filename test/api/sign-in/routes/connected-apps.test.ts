import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  approve,
  authorizeUrl,
  type Client,
  redeem,
  refresh,
  register,
  signedIn,
} from '../../../support/sign-in/sign-in-flow.ts';
import { startSignInService, type TestService } from '../../../support/sign-in/sign-in-service.ts';
import { newPkce, nextOf, TestBrowser } from '../../../support/sign-in/test-browser.ts';

const redirect_uri = 'https://site.example/signed-in';
const document = 'https://app.example/client.json';
const site = { client_id: 'site' };

let service: TestService;
let origin: string;
let told: string[];
beforeEach(async () => {
  told = [];
  const common = { token_endpoint_auth_method: 'none', redirect_uris: [redirect_uri] };
  service = await startSignInService({
    audit: (...[event]) => void told.push(event),
    clients: [
      { ...common, ...site, skip_consent: true },
      { ...common, client_id: 'other' },
    ],
    metadataFetch: async () => Response.json({ client_id: document, ...common, skip_consent: true }),
  });
  origin = service.origin;
});
afterEach(() => service.close());

const pkce = newPkce();
const atSite = (client: Client = site, more: Record<string, string> = {}) =>
  authorizeUrl(origin, client, pkce, { redirect_uri, ...more });
const codeAt = ({ url }: { url: string }): string | null => new URL(url).searchParams.get('code');
const apps = () => `${origin}/oauth/connected-apps`;

async function signIn(browser: TestBrowser, url: string, rider = 'rider-ada') {
  const { url: at, page: asked } = await browser.open(url);
  return { asked, ...(await browser.submit(at, { do: 'pick', rider })) };
}

// docs/rules.md#signing-out
describe('connected apps', () => {
  test('are listed by rider, once each, and ended by the rider for good', async () => {
    const mine = await signedIn(origin, 'rider-bo');
    const theirs = await signedIn(origin, 'rider-cy');
    const other = await register(origin, { client_name: 'Another app' });
    for (let devices = 0; devices < 2; devices++)
      await approve(new TestBrowser(origin), authorizeUrl(origin, other, newPkce()), 'rider-bo');
    const browser = new TestBrowser(origin);
    const { asked, page } = await signIn(browser, apps(), 'rider-bo');
    expect(asked).toContain('Sign in to see the apps connected');
    expect(page.match(/aria-label="Disconnect/g)).toHaveLength(2);
    expect(page.match(/chose its name by itself/g)).toHaveLength(2);
    const after = await browser.submit(apps(), { disconnect: mine.client.client_id });
    expect(after.page).toContain('Test app is disconnected');
    expect(after.page.match(/aria-label="Disconnect/g)).toHaveLength(1);
    expect((await refresh(origin, mine.client, mine.tokens.refresh_token)).body.error).toBe('invalid_grant');
    // Those of other riders are not.
    await browser.submit(apps(), { disconnect: theirs.client.client_id });
    expect((await refresh(origin, theirs.client, theirs.tokens.refresh_token)).status).toBe(200);
    const forged = { 'sec-fetch-site': 'cross-site' };
    expect((await browser.post(apps(), { disconnect: other.client_id }, forged)).status).toBe(403);
    expect((await browser.open(apps())).page.match(/aria-label="Disconnect/g)).toHaveLength(1);
    expect(told.filter((event) => event === 'disconnect')).toHaveLength(1);
  });

  test('leave the rider signed in, but give no app a token: their own code can’t be redeemed', async () => {
    const own = { client_id: 'connected-apps' };
    const browser = new TestBrowser(origin);
    const { url } = await browser.open(authorizeUrl(origin, own, pkce, { redirect_uri: apps() }));
    const picked = await browser.post(url, { do: 'pick', rider: 'rider-ada' });
    let at = await browser.get(nextOf(await picked.text())!);
    while (!at.headers.get('location')?.includes('code=')) at = await browser.get(at.headers.get('location')!);
    const code = new URL(at.headers.get('location')!).searchParams.get('code')!;
    const answer = await redeem(origin, own, code, pkce.verifier, { redirect_uri: apps() });
    expect(answer).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
  });
});

// docs/rules.md#signing-out
test('signing out asks first, ends the browser’s session, and leaves apps connected', async () => {
  const [browser, app] = [new TestBrowser(origin), await register(origin)];
  const end = await approve(browser, authorizeUrl(origin, app, pkce));
  const { body } = await redeem(origin, app, end.searchParams.get('code')!, pkce.verifier);
  const page = `${origin}/oauth/sign-out`;
  for (const _ of ['once', 'twice']) expect((await browser.submit(page, {})).page).toContain('You are signed out');
  expect(told.at(-1)).toBe('sign_out');
  expect((await browser.open(authorizeUrl(origin, app, newPkce()))).page).toContain('Pick any rider');
  expect((await refresh(origin, app, body.refresh_token)).status).toBe(200);
});

// docs/rules.md#consent
describe('a client that skips consent', () => {
  test('gets a code as soon as its rider has signed in, with a grant like any other', async () => {
    const browser = new TestBrowser(origin);
    const { body } = await redeem(origin, site, codeAt(await signIn(browser, atSite()))!, pkce.verifier, {
      redirect_uri,
    });
    expect(told).toEqual(['sign_in', 'consent_skipped', 'tokens_issued']);
    const { page } = await browser.open(apps());
    expect(page).toContain('It belongs to this calendar, and is connected whenever you sign in to it.');
    expect(page).not.toContain('chose its name by itself');
    await browser.submit(apps(), { disconnect: 'site' });
    expect((await refresh(origin, site, body.refresh_token)).body.error).toBe('invalid_grant');
  });

  test('gets one without a page in a session that is there, and makes no second grant', async () => {
    const browser = new TestBrowser(origin);
    await signIn(browser, apps());
    for (const prompt of ['none', '']) expect(codeAt(await browser.open(atSite(site, { prompt })))).not.toBeNull();
    expect(told).toEqual(['sign_in', 'consent_skipped']);
  });

  test('asks for consent all the same with prompt=consent, and a no is a no', async () => {
    const browser = new TestBrowser(origin);
    const { page, url } = await signIn(browser, atSite(site, { prompt: 'consent' }));
    expect(page).toContain('Let site read your rides?');
    const denied = await browser.submit(url, { do: 'deny' });
    expect(new URL(denied.url).searchParams.get('error')).toBe('access_denied');
    const again = await browser.open(atSite(site, { prompt: 'consent' }));
    expect(codeAt(await browser.submit(again.url, { do: 'allow' }))).not.toBeNull();
    expect(told).toEqual(['sign_in', 'consent_denied', 'consent']);
  });

  test('with prompt=login connects the rider who signs in, and not the one before', async () => {
    const browser = new TestBrowser(origin);
    await signIn(browser, apps(), 'rider-ada');
    expect(codeAt(await signIn(browser, atSite(site, { prompt: 'login' }), 'rider-bo'))).not.toBeNull();
    expect(told.filter((event) => event === 'consent_skipped')).toHaveLength(1);
    expect((await signIn(new TestBrowser(origin), apps(), 'rider-ada')).page).toContain('No app is connected');
  });

  test('is one of the operator’s only: others are asked about, and one that introduces itself so is refused', async () => {
    const browser = new TestBrowser(origin);
    expect((await signIn(browser, atSite({ client_id: 'other' }))).page).toContain('Let other read your rides?');
    await expect(register(origin, { skip_consent: true })).rejects.toThrow(/400 .*is for clients of the operator/);
    expect((await register(origin, { skip_consent: false })).client_id).not.toBe('');
    const answer = await browser.open(atSite({ client_id: document }));
    expect([answer.response.status, answer.page]).toEqual([400, expect.stringContaining('introduced itself wrongly')]);
  });
});
