import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { memorySignInState } from '../../../../infra/memory/memory-sign-in-state.ts';
import {
  approve,
  authorizeUrl,
  type Client,
  callback,
  redeem,
  refresh,
  register,
  signedIn,
} from '../../../support/sign-in/sign-in-flow.ts';
import { startSignInService, type TestService } from '../../../support/sign-in/sign-in-service.ts';
import { csrfOf, newPkce, TestBrowser } from '../../../support/sign-in/test-browser.ts';

let service: TestService;
let origin: string;
let client: Client;
beforeAll(async () => {
  service = await startSignInService();
  origin = service.origin;
  client = await register(origin);
});
afterAll(async () => {
  await service.close();
});

// docs/rules.md#signing-out
describe('connected apps', () => {
  const open = async (browser: TestBrowser) => await browser.open(`${origin}/oauth/connected-apps`);
  const signIn = async (browser: TestBrowser, rider: string) => {
    const first = await open(browser);
    expect(first.page).toContain('Sign in to see the apps connected');
    const picked = await browser.follow(await browser.post(first.url, { do: 'pick', rider, csrf: csrfOf(first.page) }));
    return await picked.response.text();
  };

  test('are listed by rider, once each, and ended by the rider for good', async () => {
    const mine = await signedIn(origin, 'rider-bo');
    const other = await register(origin, { client_name: 'Another app' });
    for (let devices = 0; devices < 2; devices++)
      await approve(new TestBrowser(origin), authorizeUrl(origin, other, newPkce()), 'rider-bo');
    const browser = new TestBrowser(origin);
    const page = await signIn(browser, 'rider-bo');
    expect(page.match(/aria-label="Disconnect/g)).toHaveLength(2);
    expect(page).toContain('Connected since');
    expect(page.match(/chose its name by itself/g)).toHaveLength(2);
    expect(page).toContain(new Date().toISOString().slice(0, 10));
    const disconnected = await browser.post('/oauth/connected-apps', {
      csrf: csrfOf(page),
      disconnect: mine.client.client_id,
    });
    const after = await disconnected.text();
    expect(after).toContain('Test app is disconnected');
    expect(after.match(/aria-label="Disconnect/g)).toHaveLength(1);
    expect((await refresh(origin, mine.client, mine.tokens.refresh_token)).body.error).toBe('invalid_grant');
    const forged = await browser.post('/oauth/connected-apps', { csrf: 'x', disconnect: other.client_id });
    expect(forged.status).toBe(403);
    expect((await open(browser)).page.match(/aria-label="Disconnect/g)).toHaveLength(1);
  });

  test('of other riders are neither shown nor ended', async () => {
    const theirs = await signedIn(origin, 'rider-cy');
    const browser = new TestBrowser(origin);
    const page = await signIn(browser, 'rider-ada');
    await browser.post('/oauth/connected-apps', { csrf: csrfOf(page), disconnect: theirs.client.client_id });
    expect((await refresh(origin, theirs.client, theirs.tokens.refresh_token)).status).toBe(200);
  });

  test('leave the rider signed in, but give no app a token: their own code can’t be redeemed', async () => {
    const query = new URLSearchParams({
      client_id: 'connected-apps',
      response_type: 'code',
      redirect_uri: `${origin}/oauth/connected-apps`,
      code_challenge: newPkce().challenge,
      code_challenge_method: 'S256',
    });
    const pkce = newPkce();
    query.set('code_challenge', pkce.challenge);
    const browser = new TestBrowser(origin);
    const first = await browser.open(`${origin}/oauth/authorize?${query}`);
    let at = await browser.post(first.url, { do: 'pick', rider: 'rider-ada', csrf: csrfOf(first.page) });
    while (!at.headers.get('location')?.includes('code=')) at = await browser.get(at.headers.get('location')!);
    const code = new URL(at.headers.get('location')!).searchParams.get('code')!;
    const form = { redirect_uri: `${origin}/oauth/connected-apps` };
    const answer = await redeem(origin, { client_id: 'connected-apps' }, code, pkce.verifier, form);
    expect(answer).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
  });

  test('beyond twenty sign-ins of one app the oldest ends', async () => {
    const store = memorySignInState();
    const known = { client_id: 'site', token_endpoint_auth_method: 'none', redirect_uris: [callback] };
    const many = await startSignInService({ store, clients: [known] });
    const app = { client_id: 'site' };
    const browser = new TestBrowser(many.origin);
    for (let i = 0; i < 22; i++) await approve(browser, authorizeUrl(many.origin, app, newPkce()));
    const { page } = await browser.open(`${many.origin}/oauth/connected-apps`);
    expect(page).toContain('<h2>site</h2>');
    expect(page).not.toContain('chose its name by itself');
    const grants = (await store.ofAccount('rider-ada')).filter(({ kind }) => kind === 'Grant');
    expect(grants).toHaveLength(20);
    await many.close();
  });
});

describe('signing out', () => {
  // docs/rules.md#signing-out
  test('asks first, ends the browser’s session, and leaves apps connected', async () => {
    const browser = new TestBrowser(origin);
    const app = await register(origin);
    const pkce = newPkce();
    const end = await approve(browser, authorizeUrl(origin, app, pkce));
    const { body } = await redeem(origin, app, end.searchParams.get('code')!, pkce.verifier);
    const asked = await browser.open(`${origin}/oauth/sign-out`);
    expect(asked.page).toContain('Sign out?');
    const csrf = csrfOf(asked.page);
    const other = new TestBrowser(origin);
    await approve(other, authorizeUrl(origin, app, newPkce()));
    const foreign = csrfOf((await other.open(`${origin}/oauth/sign-out`)).page);
    const refused = [
      await browser.post('/oauth/sign-out', { csrf: foreign }),
      await browser.post('/oauth/sign-out', { csrf }, { 'sec-fetch-site': 'cross-site' }),
    ];
    expect(refused.map(({ status }) => status)).toEqual([403, 403]);
    expect((await browser.open(`${origin}/oauth/sign-out`)).page).toContain('Sign out?');
    for (const _ of ['once', 'twice']) {
      const out = await browser.follow(await browser.post('/oauth/sign-out', { csrf }));
      expect(await out.response.text()).toContain('You are signed out');
    }
    expect((await browser.open(authorizeUrl(origin, client, newPkce()))).page).toContain('Pick any rider');
    expect((await refresh(origin, app, body.refresh_token)).status).toBe(200);
  });

  test('of nobody says so, without script', async () => {
    const asked = await new TestBrowser(origin).open(`${origin}/oauth/sign-out`);
    expect(asked.page).toContain('You are signed out');
  });
});
