import { decodeJwt } from 'jose';
import { afterAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { signSampleToken } from '../../../../api/sign-in/tokens/sample-token.ts';
import { type Client, callback, nights } from '../../../support/sign-in/sign-in-flow.ts';
import { startSignInService } from '../../../support/sign-in/sign-in-service.ts';

const later = (seconds: number) => vi.setSystemTime(Date.now() + seconds * 1000);
vi.useFakeTimers({ toFake: ['Date'] });
afterAll(() => void vi.useRealTimers());

const invalidGrant = (words: string) => ({ error: 'invalid_grant', error_description: expect.stringContaining(words) });
const refusedFor = (cause: string) => ['token_request_refused', expect.objectContaining({ cause })];
const service = await startSignInService();
const { origin, told, register, codeFor, redeem, refresh, tokenRequest, signedIn } = service;
beforeEach(() => {
  told.length = 0;
});

describe('at the token endpoint', () => {
  const refused = (error: string) => ({ status: 400, body: { error } });

  // docs/rules.md#code-flow
  test('a code gives a token for the resource, in the shape of RFC 9068, that the resource accepts', async () => {
    const { client, code, tokens } = await signedIn();
    const { client_id: id } = client;
    expect(told).toEqual([
      ['client_registered', { client: id }],
      ['sign_in', { client: id, cause: 'picked' }],
      ['consent', { client: id }],
      ['tokens_issued', { client: id, cause: 'code' }],
    ]);
    for (const secret of [code, tokens.access_token, tokens.refresh_token, 'rider-ada', 'Ada'])
      expect(JSON.stringify(told)).not.toContain(secret);
    expect(tokens).toEqual({
      access_token: expect.any(String),
      refresh_token: expect.any(String),
      token_type: 'Bearer',
      expires_in: 600,
      scope: 'read',
    });
    const claims = decodeJwt(tokens.access_token);
    expect(claims).toEqual({
      iss: origin,
      aud: service.baseUrl,
      sub: 'rider-ada',
      client_id: id,
      scope: 'read',
      grant: expect.any(String),
      jti: expect.any(String),
      iat: expect.any(Number),
      exp: claims.iat! + 600,
    });
    expect(await nights(service.baseUrl, tokens.access_token)).toEqual({ status: 200, rider: 'rider-ada' });
  });

  // docs/rules.md#code-flow
  test.each(['code', 'refresh_token'])(
    'a %s used again after ten seconds ends all that came of it; a code at once, or another client, ends nothing',
    async (cause) => {
      const { client, code, pkce, tokens } = await signedIn();
      const redeemAgain = () => redeem(client, code, pkce.verifier);
      expect(await redeemAgain()).toMatchObject(refused('invalid_grant'));
      const other = await register();
      expect(await refresh(other, tokens.refresh_token)).toMatchObject(refused('invalid_grant'));
      const second = await refresh(client, tokens.refresh_token);
      expect(second.status).toBe(200);
      later(11);
      told.length = 0;
      const again = cause === 'code' ? redeemAgain() : refresh(client, tokens.refresh_token);
      expect(await again).toMatchObject(refused('invalid_grant'));
      expect(told).toEqual([
        ['replay_found', { client: client.client_id, cause }],
        ['grant_ended', { client: client.client_id, cause: 'replay' }],
        ['token_request_refused', { client: client.client_id, cause: 'grant_used' }],
      ]);
      expect(await refresh(client, second.body.refresh_token)).toMatchObject(refused('invalid_grant'));
    },
  );

  test('a code or token that is refused says why to the audit trail and to the app whose own it is, and stays good', async () => {
    const [client, other] = [await register(), await register()];
    const { code, pkce } = await codeFor(client);
    const expectRefused = async (answer: ReturnType<typeof redeem>, cause: string, words: string) => {
      expect(await answer).toMatchObject({ status: 400, body: invalidGrant(words) });
      expect(told.at(-1)).toEqual(refusedFor(cause));
    };
    // Nobody learns of codes and tokens that are another's.
    const nothing = 'grant request is invalid';
    await expectRefused(redeem(other, code, pkce.verifier), 'grant_wrong', nothing);
    await expectRefused(refresh(client, 'x'.repeat(43)), 'grant_wrong', nothing);
    await expectRefused(redeem(client, code, 'v'.repeat(43)), 'grant_wrong', 'code_verifier');
    const elsewhere = { redirect_uri: 'http://127.0.0.1:9/callback2' };
    await expectRefused(redeem(client, code, pkce.verifier, elsewhere), 'grant_wrong', 'redirect_uri');
    const bare = { grant_type: 'authorization_code', client_id: client.client_id, code, redirect_uri: callback };
    await expectRefused(tokenRequest(bare), 'grant_wrong', 'code_verifier');
    expect((await redeem(client, code, pkce.verifier)).status).toBe(200);
    await expectRefused(redeem(client, code, pkce.verifier), 'grant_used', 'used already');
  });

  // docs/rules.md#code-flow
  test('of many who use one refresh token at a time three get a successor that lives, and the others end nothing', async () => {
    const { client, tokens } = await signedIn();
    const all = await Promise.all(Array.from({ length: 6 }, () => refresh(client, tokens.refresh_token)));
    for (const loser of all) if (loser.status !== 200) expect(loser).toMatchObject(refused('invalid_grant'));
    const winners = all.filter(({ status }) => status === 200);
    expect(new Set(winners.map(({ body }) => body.refresh_token)).size).toBe(3);
    const events = told.map(([event]) => event);
    const times = (wanted: string) => events.filter((event) => event === wanted).length;
    expect(['refresh_reused', 'token_request_refused', 'replay_found'].map(times)).toEqual([5, 3, 0]);
    // As two tabs do that share a store, each with a successor of its own.
    for (const { body } of winners) expect((await refresh(client, body.refresh_token)).status).toBe(200);
  });

  test('a connection is refreshed sixty times in ten minutes, and is told then to try again later', async () => {
    const { client, tokens } = await signedIn();
    let token = tokens.refresh_token;
    for (let i = 0; i < 60; i++) token = (await refresh(client, token)).body.refresh_token;
    told.length = 0;
    // Part of a second is waited as a whole one.
    later(0.5);
    const over = await refresh(client, token);
    expect(over).toMatchObject({ status: 429, body: { error: 'temporarily_unavailable' } });
    expect(told).toEqual([['refresh_limited', { client: client.client_id }], refusedFor('temporarily_unavailable')]);
    expect(over.headers.get('retry-after')).toBe('600');
    // The token that was refused so is not used up: an honest retry is no replay.
    later(600);
    expect((await refresh(client, token)).status).toBe(200);
  });

  // docs/rules.md#scope, #resource
  test('the scope and the resource may be repeated wherever, with a slash at its end; another one or another resource is refused, and uses nothing up', async () => {
    const [scope, resource] = ['offline_access  read', `${service.baseUrl}/`];
    const client = await register({ scope });
    const { code, pkce } = await codeFor(client, { scope, resource, prompt: 'consent' });
    const { refresh_token: token } = (await redeem(client, code, pkce.verifier, { scope, resource })).body;
    const elsewhere = { resource: 'https://elsewhere.example/api' };
    expect(await refresh(client, token, elsewhere)).toMatchObject(refused('invalid_target'));
    const { body } = await refresh(client, token, { scope: 'read write' });
    expect(body).toMatchObject({ error: 'invalid_scope', error_description: 'the only scope here is read' });
    later(11);
    const again = await refresh(client, token, { resource, scope });
    expect(decodeJwt(again.body.access_token)).toMatchObject({ scope: 'read', aud: service.baseUrl });
  });

  // docs/rules.md#redirect-uris
  test('a token request may leave redirect_uri out, for any port of a native app too, and one that is sent must match', async () => {
    const client = await register({ redirect_uris: [callback, 'https://app.example/cb'] });
    const { code, pkce } = await codeFor(client, { redirect_uri: 'http://127.0.0.1:54321/callback' });
    const form = { grant_type: 'authorization_code', client_id: client.client_id, code, code_verifier: pkce.verifier };
    for (const redirect_uri of [callback, '', 'https://app.example/cb'])
      expect((await tokenRequest({ ...form, redirect_uri })).status).toBe(400);
    // The verifier proves whose code it is.
    const guessed = { ...form, code_verifier: 'v'.repeat(43) };
    expect(await tokenRequest(guessed)).toMatchObject(refused('invalid_grant'));
    expect((await tokenRequest(form)).status).toBe(200);
  });

  const revoke = async ({ client_id }: Client, token: string, more: Record<string, string> = {}) => {
    const body = new URLSearchParams({ client_id, token, ...more });
    const response = await fetch(`${origin}/oauth/revoke`, { method: 'POST', body });
    // Of nothing there is no type, which some clients would refuse.
    return [response.status, await response.text(), response.headers.get('content-type')];
  };
  const revoked = [200, '', null];

  // docs/rules.md#revocation, #access-tokens
  test.each([
    ['refresh_token', {}, 0],
    ['access_token', { token_type_hint: 'refresh_token' }, 0],
    ['access_token', {}, 3_600],
  ] as const)(
    'a revoked %s ends its family, once, and no other client can: %j, after %i s',
    async (which, hint, seconds) => {
      const { client, tokens } = await signedIn();
      const other = await register();
      expect(await revoke(other, tokens[which], hint)).toEqual(revoked);
      const second = await refresh(client, tokens.refresh_token);
      expect(second.status).toBe(200);
      later(seconds);
      told.length = 0;
      expect(await revoke(client, tokens[which], hint)).toEqual(revoked);
      expect(told).toEqual([['grant_ended', { client: client.client_id, cause: 'revoked' }]]);
      for (const token of [tokens.refresh_token, second.body.access_token])
        expect(await revoke(client, token)).toEqual(revoked);
      expect(told).toHaveLength(1);
      expect((await refresh(client, second.body.refresh_token)).body).toMatchObject(invalidGrant('has ended'));
      expect(told.at(-1)).toEqual(refusedFor('grant_revoked'));
      expect((await nights(service.baseUrl, second.body.access_token)).status).toBe(seconds === 0 ? 200 : 401);
    },
  );

  test('what looks like an access token and is none of ours ends nothing', async () => {
    const { client, tokens } = await signedIn();
    const [header, claims] = tokens.access_token.split('.');
    const whose = { rider: 'rider-ada', keys: service.keys, issuer: origin, audience: service.baseUrl };
    const sample = await signSampleToken(whose);
    const grant = String(decodeJwt(tokens.access_token).grant);
    for (const token of [`${header}.${claims}.`, `${header}.${claims}.${sample.split('.')[2]}`, grant, sample])
      expect(await revoke(client, token)).toEqual(revoked);
    expect((await refresh(client, tokens.refresh_token)).status).toBe(200);
  });

  test('where it is not known who exists, codes and refresh tokens are not used up', async () => {
    const client = await register();
    const { code, pkce } = await codeFor(client);
    let token = '';
    for (const use of [() => redeem(client, code, pkce.verifier), () => refresh(client, token)]) {
      service.riders.away = true;
      expect(await use()).toMatchObject({ status: 503, body: { error: 'temporarily_unavailable' } });
      service.riders.away = false;
      later(11);
      const { status, body } = await use();
      expect(status).toBe(200);
      token = body.refresh_token;
    }
  });
});

// docs/rules.md#code-flow, #consent
test('a code lives for a minute, a refresh token for 30 days, and a grant for 90, which refreshing does not extend', async () => {
  const client = await register();
  const { code, pkce } = await codeFor(client);
  const expired = invalidGrant('expired');
  // An app that is a day late is told so too.
  for (const seconds of [61, 86_000]) {
    later(seconds);
    expect((await redeem(client, code, pkce.verifier)).body).toMatchObject(expired);
    expect(told.at(-1)).toEqual(refusedFor('grant_expired'));
  }
  const [used, unused] = [await signedIn(), await signedIn()];
  let token = used.tokens.refresh_token;
  for (const days of [29, 1.5, 28, 28]) {
    later(days * 86_400);
    token = (await refresh(used.client, token)).body.refresh_token;
    if (days === 1.5) expect((await refresh(unused.client, unused.tokens.refresh_token)).body).toMatchObject(expired);
  }
  expect(token).toBeDefined();
  later(4 * 86_400);
  expect((await refresh(used.client, token)).body.error).toBe('invalid_grant');
});
