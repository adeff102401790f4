import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { AuditTrail } from '../../../../api/ports/audit-trail.ts';
import { paths } from '../../../../api/sign-in/tokens/metadata.ts';
import {
  approve,
  authorizeUrl,
  callback,
  codeFor,
  nights,
  redeem,
  refresh,
  register,
  type SignedIn,
  signedIn,
  tokenRequest,
} from '../../../support/sign-in/sign-in-flow.ts';
import { startSignInService, type TestService } from '../../../support/sign-in/sign-in-service.ts';
import { csrfOf, newPkce, TestBrowser } from '../../../support/sign-in/test-browser.ts';

// docs/audit-trail.md
let service: TestService;
let origin: string;
let told: Parameters<AuditTrail>[];
// Long enough for some requests in a row on a busy machine.
const reuseSeconds = 4;
beforeEach(async () => {
  told = [];
  service = await startSignInService({
    audit: (...event) => void told.push(event),
    lifetimes: { reuse: reuseSeconds },
  });
  origin = service.origin;
});
afterEach(() => service.close());

const events = () => told.map(([event]) => event);

test('a sign-in tells of the app’s registration, the rider, the consent and the tokens, without a secret or a rider', async () => {
  const { client, code, tokens } = await signedIn(origin);
  const { client_id: id } = client;
  expect(told).toEqual([
    ['client_registered', { client: id }],
    ['sign_in', { client: id, cause: 'picked' }],
    ['consent', { client: id }],
    ['tokens_issued', { client: id, cause: 'code' }],
  ]);
  for (const secret of [code, tokens.access_token, tokens.refresh_token, 'rider-ada', 'Ada'])
    expect(JSON.stringify(told)).not.toContain(secret);
});

test('a code or refresh token that comes again tells of the replay, and of the end of what came of it', async () => {
  const one = await signedIn(origin);
  const other = await signedIn(origin);
  await refresh(origin, other.client, other.tokens.refresh_token);
  await sleep(reuseSeconds * 1000 + 100);
  await redeem(origin, one.client, one.code, one.pkce.verifier);
  await refresh(origin, other.client, other.tokens.refresh_token);
  const replays = told.filter(([event]) => ['replay_found', 'grant_ended', 'token_request_refused'].includes(event));
  expect(replays).toEqual([
    ['replay_found', { client: one.client.client_id, cause: 'code' }],
    ['grant_ended', { client: one.client.client_id, cause: 'replay' }],
    ['token_request_refused', { client: one.client.client_id, cause: 'grant_used' }],
    ['replay_found', { client: other.client.client_id, cause: 'refresh_token' }],
    ['grant_ended', { client: other.client.client_id, cause: 'replay' }],
    ['token_request_refused', { client: other.client.client_id, cause: 'grant_used' }],
  ]);
});

test('a refresh token that comes again at once tells of it, and of no replay', async () => {
  const { client, tokens } = await signedIn(origin);
  const { client_id: id } = client;
  for (let i = 0; i < 4; i++) await refresh(origin, client, tokens.refresh_token);
  expect(told.slice(4)).toEqual([
    ['tokens_issued', { client: id, cause: 'refresh_token' }],
    ['refresh_reused', { client: id }],
    ['tokens_issued', { client: id, cause: 'refresh_token' }],
    ['refresh_reused', { client: id }],
    ['tokens_issued', { client: id, cause: 'refresh_token' }],
    ['refresh_reused', { client: id }],
    ['token_request_refused', { client: id, cause: 'grant_used' }],
  ]);
});

test('a refused code or refresh token says whether it is wrong, used, expired or of a connection that has ended', async () => {
  const secret = 'a-secret-of-at-least-32-characters';
  const site = { client_id: 'site', redirect_uris: [callback], client_secret: secret, application_type: 'native' };
  const clients = [{ ...site, token_endpoint_auth_method: 'client_secret_post' }];
  const own = await startSignInService({ audit: (...event) => void told.push(event), clients });
  const of = async (answer: ReturnType<typeof redeem>) => {
    const { body } = await answer;
    const facts = told.at(-1)?.[1] as { cause?: string };
    return [facts.cause, body.error, body.error_description];
  };
  const [guess, generic] = ['x'.repeat(43), 'grant request is invalid'];
  const [mine, theirs] = [await signedIn(own.origin), await signedIn(own.origin)];
  const { client, pkce } = mine;
  const spent = (found: SignedIn) => redeem(own.origin, found.client, found.code, found.pkce.verifier);
  expect(await of(spent(mine))).toEqual(['grant_used', 'invalid_grant', expect.stringContaining('used already')]);
  // Nobody learns of codes and tokens that are another's.
  const foreign = redeem(own.origin, client, theirs.code, theirs.pkce.verifier);
  expect(await of(foreign)).toEqual(['grant_wrong', 'invalid_grant', generic]);
  expect(await of(refresh(own.origin, client, guess))).toEqual(['grant_wrong', 'invalid_grant', generic]);
  const known = { client_id: 'site', client_secret: secret };
  const byKnown = tokenRequest(own.origin, { grant_type: 'refresh_token', refresh_token: guess, ...known });
  expect(await of(byKnown)).toEqual(['grant_wrong', 'invalid_grant', expect.stringContaining('of this client')]);
  const { code, pkce: other } = await codeFor(own.origin, client);
  const wrong = redeem(own.origin, client, code, pkce.verifier);
  expect(await of(wrong)).toEqual(['grant_wrong', 'invalid_grant', expect.stringContaining('code_verifier')]);
  const elsewhere = redeem(own.origin, client, code, other.verifier, { redirect_uri: `${callback}/x` });
  expect(await of(elsewhere)).toEqual(['grant_wrong', 'invalid_grant', expect.stringContaining('redirect_uri')]);
  const brief = await startSignInService({ audit: (...event) => void told.push(event), lifetimes: { code: 1 } });
  const app = await register(brief.origin);
  const { code: old, pkce: its } = await codeFor(brief.origin, app);
  await sleep(1100);
  expect(await of(redeem(brief.origin, app, old, its.verifier))).toEqual([
    'grant_expired',
    'invalid_grant',
    expect.stringContaining('expired'),
  ]);
  const body = new URLSearchParams({ client_id: client.client_id, token: mine.tokens.refresh_token });
  await fetch(`${own.origin}${paths.revoke}`, { method: 'POST', body });
  const ended = refresh(own.origin, client, mine.tokens.refresh_token);
  expect(await of(ended)).toEqual(['grant_revoked', 'invalid_grant', expect.stringContaining('has ended')]);
  await own.close();
  await brief.close();
});

test('an app that revokes, and a token that is not live, are told of', async () => {
  const { client, tokens } = await signedIn(origin);
  const body = new URLSearchParams({ client_id: client.client_id, token: tokens.refresh_token });
  await fetch(`${origin}${paths.revoke}`, { method: 'POST', body });
  await nights(service.baseUrl, 'no.such.token');
  expect(told.slice(4)).toEqual([
    ['grant_ended', { client: client.client_id, cause: 'revoked' }],
    ['token_refused', { cause: 'malformed' }],
  ]);
});

test('a rider who refuses, sends a forged form, disconnects and signs out is told of each time', async () => {
  const browser = new TestBrowser(origin);
  const client = await register(origin);
  await approve(browser, authorizeUrl(origin, client, newPkce()));
  const again = await browser.open(authorizeUrl(origin, client, newPkce(), { prompt: 'consent' }));
  await browser.post(again.url, { csrf: 'forged', do: 'allow' });
  await browser.post(again.url, { csrf: csrfOf(again.page), do: 'deny' });
  const apps = await browser.open(origin + paths.connectedApps);
  await browser.post(paths.connectedApps, { csrf: csrfOf(apps.page), disconnect: client.client_id });
  expect(events().slice(3)).toEqual(['form_refused', 'consent_denied', 'disconnect']);
  await codeFor(origin, client);
});
