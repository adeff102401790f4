import { afterEach, beforeEach, expect, test } from 'vitest';
import type { AuditTrail } from '../../../../api/ports/audit-trail.ts';
import { memorySignInState } from '../../../../infra/memory/memory-sign-in-state.ts';
import {
  approve,
  authorizeUrl,
  callback,
  codeFor,
  nights,
  redeem,
  refresh,
  register,
  signedIn,
} from '../../../support/sign-in/sign-in-flow.ts';
import { startSignInService, type TestService } from '../../../support/sign-in/sign-in-service.ts';
import { newPkce, TestBrowser } from '../../../support/sign-in/test-browser.ts';
import { TimedUses } from './timed-uses.ts';

// docs/audit-trail.md. test/api/sign-in/routes has the events of forms, of signing out and of skipped consent.
let service: TestService;
let origin: string;
let uses: TimedUses;
let told: Parameters<AuditTrail>[];
beforeEach(async () => {
  [told, uses] = [[], new TimedUses()];
  const audit: AuditTrail = (...event) => void told.push(event);
  service = await startSignInService({ audit, store: uses.in(memorySignInState()) });
  origin = service.origin;
});
afterEach(() => service.close());

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

test('a code that comes again later tells of the replay, and of the end of what came of it', async () => {
  const { client, code, pkce } = await signedIn(origin);
  uses.later(11);
  await redeem(origin, client, code, pkce.verifier);
  expect(told.slice(4)).toEqual([
    ['replay_found', { client: client.client_id, cause: 'code' }],
    ['grant_ended', { client: client.client_id, cause: 'replay' }],
    ['token_request_refused', { client: client.client_id, cause: 'grant_used' }],
  ]);
});

test('a refresh token that comes again at once tells of it and of no replay, and later of a replay', async () => {
  const { client, tokens } = await signedIn(origin);
  const { client_id: id } = client;
  for (let i = 0; i < 4; i++) await refresh(origin, client, tokens.refresh_token);
  uses.later(11);
  await refresh(origin, client, tokens.refresh_token);
  expect(told.slice(4)).toEqual([
    ['tokens_issued', { client: id, cause: 'refresh_token' }],
    ['refresh_reused', { client: id }],
    ['tokens_issued', { client: id, cause: 'refresh_token' }],
    ['refresh_reused', { client: id }],
    ['tokens_issued', { client: id, cause: 'refresh_token' }],
    ['refresh_reused', { client: id }],
    ['token_request_refused', { client: id, cause: 'grant_used' }],
    ['replay_found', { client: id, cause: 'refresh_token' }],
    ['grant_ended', { client: id, cause: 'replay' }],
    ['token_request_refused', { client: id, cause: 'grant_used' }],
  ]);
});

test('a refused code or refresh token says why to the audit trail, and to the app whose own it is', async () => {
  const [mine, theirs] = [await signedIn(origin), await signedIn(origin)];
  const { client, pkce } = mine;
  const refused = async (answer: ReturnType<typeof redeem>) => {
    const { error, error_description: words } = (await answer).body;
    return [error, (told.at(-1)![1] as { cause: string }).cause, words];
  };
  const expectRefused = async (answer: ReturnType<typeof redeem>, cause: string, words: string) =>
    expect(await refused(answer)).toEqual(['invalid_grant', cause, expect.stringContaining(words)]);
  await expectRefused(redeem(origin, client, mine.code, pkce.verifier), 'grant_used', 'used already');
  // Nobody learns of codes and tokens that are another's.
  const nothing = 'grant request is invalid';
  await expectRefused(redeem(origin, client, theirs.code, theirs.pkce.verifier), 'grant_wrong', nothing);
  await expectRefused(refresh(origin, client, 'x'.repeat(43)), 'grant_wrong', nothing);
  const fresh = await codeFor(origin, client);
  await expectRefused(redeem(origin, client, fresh.code, pkce.verifier), 'grant_wrong', 'code_verifier');
  const elsewhere = redeem(origin, client, fresh.code, fresh.pkce.verifier, { redirect_uri: `${callback}/x` });
  await expectRefused(elsewhere, 'grant_wrong', 'redirect_uri');
  const body = new URLSearchParams({ client_id: client.client_id, token: mine.tokens.refresh_token });
  await fetch(`${origin}/oauth/revoke`, { method: 'POST', body });
  await expectRefused(refresh(origin, client, mine.tokens.refresh_token), 'grant_revoked', 'has ended');
});

test('an app that revokes, a token that is not live, a rider who refuses, and one who disconnects are told of', async () => {
  const browser = new TestBrowser(origin);
  const client = await register(origin);
  const { client_id: id } = client;
  const pkce = newPkce();
  const end = await approve(browser, authorizeUrl(origin, client, pkce));
  const { body } = await redeem(origin, client, end.searchParams.get('code')!, pkce.verifier);
  const { url } = await browser.open(authorizeUrl(origin, client, newPkce(), { prompt: 'consent' }));
  await browser.post(url, { do: 'deny' });
  await browser.submit('/oauth/connected-apps', { disconnect: id });
  const form = new URLSearchParams({ client_id: id, token: body.refresh_token });
  await fetch(`${origin}/oauth/revoke`, { method: 'POST', body: form });
  await nights(service.baseUrl, 'no.such.token');
  expect(told.slice(4)).toEqual([
    ['consent_denied', { client: id }],
    ['disconnect', { client: id }],
    ['grant_ended', { client: id, cause: 'revoked' }],
    ['token_refused', { cause: 'malformed' }],
  ]);
});
