import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { authorizeUrl, redeem, refresh, register } from '../../../support/sign-in/sign-in-flow.ts';
import { startSignInService, type TestService } from '../../../support/sign-in/sign-in-service.ts';
import { csrfOf, newPkce, TestBrowser } from '../../../support/sign-in/test-browser.ts';

const redirect_uri = 'https://site.example/signed-in';
const client_id = 'https://app.example/client.json';
const common = { token_endpoint_auth_method: 'none', application_type: 'web', redirect_uris: [redirect_uri] };
const site = { ...common, client_id: 'site' };

let service: TestService;
let told: string[];
beforeEach(async () => {
  told = [];
  service = await startSignInService({
    audit: (...[event]) => void told.push(event),
    clients: [
      { ...site, skip_consent: true },
      { ...common, client_id: 'other' },
    ],
    metadataFetch: async () => Response.json({ client_id, redirect_uris: [redirect_uri], skip_consent: true }),
  });
});
afterEach(() => service.close());

const pkce = newPkce();
const urlOf = (client = 'site', more: Record<string, string> = {}): string =>
  authorizeUrl(service.origin, { client_id: client }, pkce, { redirect_uri, ...more });
const codeAt = (url: string): string | null => new URL(url).searchParams.get('code');

async function signIn(browser: TestBrowser, url: string, rider = 'rider-ada') {
  const { url: at, page } = await browser.open(url);
  const answer = await browser.follow(await browser.post(at, { do: 'pick', rider, csrf: csrfOf(page) }));
  return { asked: page, ...answer, page: answer.response.headers.has('location') ? '' : await answer.response.text() };
}

// docs/rules.md#consent
describe('a client that skips consent', () => {
  test('gets a code as soon as its rider has signed in, with a grant like any other', async () => {
    const browser = new TestBrowser(service.origin);
    const { asked, url } = await signIn(browser, urlOf());
    expect(asked).toContain('can read your rides once you have');
    const form = { redirect_uri };
    const { status, body } = await redeem(service.origin, site, codeAt(url)!, pkce.verifier, form);
    expect(status).toBe(200);
    expect(told).toEqual(['sign_in', 'consent_skipped', 'tokens_issued']);
    const { page } = await browser.open(`${service.origin}/oauth/connected-apps`);
    expect(page).toContain('It belongs to this calendar, and is connected whenever you sign in to it.');
    await browser.post('/oauth/connected-apps', { csrf: csrfOf(page), disconnect: 'site' });
    expect((await refresh(service.origin, site, body.refresh_token)).body.error).toBe('invalid_grant');
  });

  test('gets one without a page in a session that is there, and makes no second grant', async () => {
    const browser = new TestBrowser(service.origin);
    await signIn(browser, `${service.origin}/oauth/connected-apps`);
    for (const prompt of ['none', ''])
      expect(codeAt((await browser.open(urlOf('site', { prompt }))).url)).not.toBeNull();
    expect(told).toEqual(['sign_in', 'consent_skipped']);
  });

  test('asks for consent all the same with prompt=consent, and a no is a no', async () => {
    const browser = new TestBrowser(service.origin);
    const { page, url } = await signIn(browser, urlOf('site', { prompt: 'consent' }));
    expect(page).toContain('Let site read your rides?');
    const denied = await browser.follow(await browser.post(url, { csrf: csrfOf(page), do: 'deny' }));
    expect(new URL(denied.url).searchParams.get('error')).toBe('access_denied');
    const again = await browser.open(urlOf('site', { prompt: 'consent' }));
    const allowed = await browser.follow(await browser.post(again.url, { csrf: csrfOf(again.page), do: 'allow' }));
    expect(codeAt(allowed.url)).not.toBeNull();
    expect(told).toEqual(['sign_in', 'consent_denied', 'consent']);
  });

  test('with prompt=login connects the rider who signs in, and not the one before', async () => {
    const browser = new TestBrowser(service.origin);
    await signIn(browser, `${service.origin}/oauth/connected-apps`, 'rider-ada');
    const { url } = await signIn(browser, urlOf('site', { prompt: 'login' }), 'rider-bo');
    expect(codeAt(url)).not.toBeNull();
    expect(told.filter((event) => event === 'consent_skipped')).toHaveLength(1);
    const ada = await signIn(new TestBrowser(service.origin), `${service.origin}/oauth/connected-apps`, 'rider-ada');
    expect(ada.page).toContain('No app is connected');
  });

  test('is one of the operator’s only: others are asked about, and one that introduces itself so is refused', async () => {
    const browser = new TestBrowser(service.origin);
    expect((await signIn(browser, urlOf('other'))).page).toContain('Let other read your rides?');
    await expect(register(service.origin, { skip_consent: true })).rejects.toThrow(
      /400 .*skip_consent is for clients of the operator/,
    );
    expect((await register(service.origin, { skip_consent: false })).client_id).not.toBe('');
    const answer = await browser.open(urlOf(client_id));
    expect([answer.response.status, answer.page]).toEqual([400, expect.stringContaining('introduced itself wrongly')]);
  });
});
