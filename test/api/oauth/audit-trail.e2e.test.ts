import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { AuditTrail } from '../../../api/oauth/audit-trail.ts';
import { paths } from '../../../api/oauth/metadata.ts';
import {
  approve,
  authorizeUrl,
  codeFor,
  nights,
  redeem,
  refresh,
  register,
  signedIn,
} from '../../support/sign-in-flow.ts';
import { startSignInService, type TestService } from '../../support/sign-in-service.ts';
import { csrfOf, newPkce, TestBrowser } from '../../support/test-browser.ts';

// docs/audit-trail.md
let service: TestService;
let origin: string;
let told: Parameters<AuditTrail>[];
const reuseSeconds = 1;
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
    ['token_request_refused', { client: one.client.client_id, cause: 'invalid_grant' }],
    ['replay_found', { client: other.client.client_id, cause: 'refresh_token' }],
    ['grant_ended', { client: other.client.client_id, cause: 'replay' }],
    ['token_request_refused', { client: other.client.client_id, cause: 'invalid_grant' }],
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
    ['token_request_refused', { client: id, cause: 'invalid_grant' }],
  ]);
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
