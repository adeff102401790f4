import { beforeEach, describe, expect, test } from 'vitest';
import { approve, type Client } from '../../../support/sign-in/sign-in-flow.ts';
import { startSignInService } from '../../../support/sign-in/sign-in-service.ts';
import { newPkce, nextOf, TestBrowser } from '../../../support/sign-in/test-browser.ts';

const redirect_uri = 'https://site.example/signed-in';
const document = 'https://app.example/client.json';
const site = { client_id: 'site' };
const common = { token_endpoint_auth_method: 'none', redirect_uris: [redirect_uri] };
const service = await startSignInService({
  clients: [{ ...site, skip_consent: true }, { client_id: 'other' }].map((each) => ({ ...common, ...each })),
  metadataFetch: async () => Response.json({ client_id: document, ...common, skip_consent: true }),
});
const { origin } = service;
const told = () => service.told.map(([event]) => event);
beforeEach(() => {
  service.told.length = 0;
});

const pkce = newPkce();
const atSite = (client: Client = site, more: Record<string, string> = {}) =>
  service.authorizeUrl(client, pkce, { redirect_uri, ...more });
const codeAt = ({ url }: { url: string }): string | null => new URL(url).searchParams.get('code');
const apps = `${origin}/oauth/connected-apps`;

async function signIn(url: string, rider = 'rider-ada') {
  const browser = new TestBrowser(origin);
  const { url: at, page: asked } = await browser.open(url);
  return { browser, asked, ...(await browser.submit(at, { do: 'pick', rider })) };
}

// docs/rules.md#signing-out
describe('connected apps', () => {
  test('are listed by rider, once each, and ended by the rider for good', async () => {
    const mine = await service.signedIn('rider-bo');
    const theirs = await service.signedIn('rider-cy');
    const other = await service.register({ client_name: 'Another app' });
    for (const device of [new TestBrowser(origin), new TestBrowser(origin)])
      await approve(device, service.authorizeUrl(other), 'rider-bo');
    const { browser, asked, page } = await signIn(apps, 'rider-bo');
    expect(asked).toContain('Sign in to see the apps connected');
    expect(page.match(/aria-label="Disconnect/g)).toHaveLength(2);
    expect(page.match(/chose its name by itself/g)).toHaveLength(2);
    const after = await browser.submit(apps, { disconnect: mine.client.client_id });
    expect(after.page).toContain('Test app is disconnected. What it was given last still works for up to ten minutes.');
    expect(after.page.match(/aria-label="Disconnect/g)).toHaveLength(1);
    expect((await service.refresh(mine.client, mine.tokens.refresh_token)).body.error).toBe('invalid_grant');
    // Those of other riders are not.
    await browser.submit(apps, { disconnect: theirs.client.client_id });
    expect((await service.refresh(theirs.client, theirs.tokens.refresh_token)).status).toBe(200);
    const forged = { 'sec-fetch-site': 'cross-site' };
    expect((await browser.post(apps, { disconnect: other.client_id }, forged)).status).toBe(403);
    expect((await browser.open(apps)).page.match(/aria-label="Disconnect/g)).toHaveLength(1);
    expect(told().filter((event) => event === 'disconnect')).toHaveLength(1);
  });

  test('are not shown to a rider who cancels, who is not asked again either', async () => {
    const browser = new TestBrowser(origin);
    const { page, response } = await browser.submit((await browser.open(apps)).url, { do: 'cancel' });
    expect([response.status, page]).toEqual([400, expect.stringContaining('This sign-in is over')]);
  });

  test('leave the rider signed in, but give no app a token: their own code can’t be redeemed', async () => {
    const own = { client_id: 'connected-apps' };
    const browser = new TestBrowser(origin);
    const { url } = await browser.open(service.authorizeUrl(own, pkce, { redirect_uri: apps }));
    const picked = await browser.post(url, { do: 'pick', rider: 'rider-ada' });
    let at = await browser.get(nextOf(await picked.text())!);
    while (!at.headers.get('location')?.includes('code=')) at = await browser.get(at.headers.get('location')!);
    const code = new URL(at.headers.get('location')!).searchParams.get('code')!;
    const answer = await service.redeem(own, code, pkce.verifier, { redirect_uri: apps });
    expect(answer).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
  });
});

// docs/rules.md#consent
describe('a client that skips consent', () => {
  test('gets a code as soon as its rider has signed in, with a grant like any other', async () => {
    const { browser, ...end } = await signIn(atSite());
    const { body } = await service.redeem(site, codeAt(end)!, pkce.verifier, { redirect_uri });
    expect(told()).toEqual(['sign_in', 'consent_skipped', 'tokens_issued']);
    const { page } = await browser.open(apps);
    expect(page).toContain('It belongs to this calendar, and is connected whenever you sign in to it.');
    expect(page).not.toContain('chose its name by itself');
    await browser.submit(apps, { disconnect: 'site' });
    expect((await service.refresh(site, body.refresh_token)).body.error).toBe('invalid_grant');
  });

  test('gets one without a page in a session that is there, and makes no second grant', async () => {
    const { browser } = await signIn(apps, 'rider-bo');
    for (const prompt of ['none', '']) expect(codeAt(await browser.open(atSite(site, { prompt })))).not.toBeNull();
    expect(told()).toEqual(['sign_in', 'consent_skipped']);
  });

  test('is connected to nobody before a sign-in that it asks for', async () => {
    const { browser } = await signIn(apps, 'rider-bo');
    await browser.open(atSite(site, { prompt: 'login' }));
    expect(told()).toEqual(['sign_in']);
  });

  test('asks for consent all the same with prompt=consent, and a no is a no', async () => {
    const { browser, page, url } = await signIn(atSite(site, { prompt: 'consent' }), 'rider-cy');
    expect(page).toContain('Let site read your rides?');
    expect((await browser.submit(url, { do: 'deny' })).url).toContain('error=access_denied');
    expect(told()).toEqual(['sign_in', 'consent_denied']);
  });

  test('is one of the operator’s only: others are asked about, and one that introduces itself so is refused', async () => {
    const { browser, page } = await signIn(atSite({ client_id: 'other' }));
    expect(page).toContain('Let other read your rides?');
    await expect(service.register({ skip_consent: true })).rejects.toThrow(/400 .*is for clients of the operator/);
    const answer = await browser.open(atSite({ client_id: document }));
    expect([answer.response.status, answer.page]).toEqual([400, expect.stringContaining('introduced itself wrongly')]);
  });
});
