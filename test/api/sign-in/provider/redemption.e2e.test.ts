import { setTimeout as sleep } from 'node:timers/promises';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { memorySignInState } from '../../../../infra/memory/memory-sign-in-state.ts';
import {
  type Client,
  callback,
  codeFor,
  nights,
  redeem,
  refresh,
  register,
  signedIn,
  tokenRequest,
} from '../../../support/sign-in/sign-in-flow.ts';
import { startSignInService, type TestService } from '../../../support/sign-in/sign-in-service.ts';
import { TimedUses } from './timed-uses.ts';

describe('at the token endpoint', () => {
  let service: TestService;
  let origin: string;
  const uses = new TimedUses();
  beforeAll(async () => {
    service = await startSignInService({ store: uses.in(memorySignInState()) });
    origin = service.origin;
  });
  afterAll(() => service.close());
  const refused = (error: string) => ({ status: 400, body: { error } });

  // docs/rules.md#code-flow
  test('a code gives a token for the resource, in the shape of RFC 9068, that the resource accepts', async () => {
    const { client, tokens } = await signedIn(origin);
    expect(tokens).toEqual({
      access_token: expect.any(String),
      refresh_token: expect.any(String),
      token_type: 'Bearer',
      expires_in: 600,
      scope: 'read',
    });
    const kid = service.keys[0].kid;
    expect(decodeProtectedHeader(tokens.access_token)).toEqual({ alg: 'ES256', typ: 'at+jwt', kid });
    const claims = decodeJwt(tokens.access_token);
    expect(claims).toEqual({
      iss: origin,
      aud: service.baseUrl,
      sub: 'rider-ada',
      client_id: client.client_id,
      scope: 'read',
      jti: expect.any(String),
      iat: expect.any(Number),
      exp: claims.iat! + 600,
    });
    expect(await nights(service.baseUrl, tokens.access_token)).toEqual({ status: 200, rider: 'rider-ada' });
  });

  // docs/rules.md#code-flow
  test('a code that is redeemed again at once is refused and ends nothing, and later ends what came of it', async () => {
    const { client, code, pkce, tokens } = await signedIn(origin);
    expect(await redeem(origin, client, code, pkce.verifier)).toMatchObject(refused('invalid_grant'));
    const second = await refresh(origin, client, tokens.refresh_token);
    expect(second.status).toBe(200);
    uses.later(10);
    expect(await redeem(origin, client, code, pkce.verifier)).toMatchObject(refused('invalid_grant'));
    expect(await refresh(origin, client, second.body.refresh_token)).toMatchObject(refused('invalid_grant'));
  });

  // docs/rules.md#code-flow
  test('a refresh token used again after its ten seconds ends the whole connection, and serves no other client', async () => {
    const { client, tokens } = await signedIn(origin);
    const other = await register(origin);
    expect(await refresh(origin, other, tokens.refresh_token)).toMatchObject(refused('invalid_grant'));
    const second = await refresh(origin, client, tokens.refresh_token);
    expect(second.status).toBe(200);
    uses.later(10);
    expect(await refresh(origin, client, tokens.refresh_token)).toMatchObject(refused('invalid_grant'));
    expect(await refresh(origin, client, second.body.refresh_token)).toMatchObject(refused('invalid_grant'));
  });

  // docs/rules.md#code-flow
  test('of many who redeem one code at a time one gets tokens, and keeps them', async () => {
    const client = await register(origin);
    const { code, pkce } = await codeFor(origin, client);
    uses.together(6);
    const all = await Promise.all(Array.from({ length: 6 }, () => redeem(origin, client, code, pkce.verifier)));
    const winners = all.filter(({ status }) => status === 200);
    expect(winners).toHaveLength(1);
    for (const loser of all) if (loser.status !== 200) expect(loser).toMatchObject(refused('invalid_grant'));
    expect((await refresh(origin, client, winners[0]!.body.refresh_token)).status).toBe(200);
  });

  test('a code serves neither another client nor another verifier, or none, nor another address, and its own after that', async () => {
    const [client, other] = [await register(origin), await register(origin)];
    const { code, pkce } = await codeFor(origin, client);
    const { verifier } = (await codeFor(origin, other)).pkce;
    const wrong = { redirect_uri: 'http://127.0.0.1:9/callback2' };
    expect(await redeem(origin, other, code, pkce.verifier)).toMatchObject(refused('invalid_grant'));
    expect(await redeem(origin, client, code, verifier)).toMatchObject(refused('invalid_grant'));
    expect(await redeem(origin, client, code, pkce.verifier, wrong)).toMatchObject(refused('invalid_grant'));
    const bare = { grant_type: 'authorization_code', client_id: client.client_id, code, redirect_uri: callback };
    expect(await tokenRequest(origin, bare)).toMatchObject(refused('invalid_grant'));
    // A client of one address may leave it out.
    const { redirect_uri: _, ...addressless } = { ...bare, code_verifier: pkce.verifier };
    expect((await tokenRequest(origin, addressless)).status).toBe(200);
  });

  test('a token request that says something twice is refused', async () => {
    const { client, tokens } = await signedIn(origin);
    const form = new URLSearchParams({ grant_type: 'refresh_token', client_id: client.client_id });
    for (const token of [tokens.refresh_token, 'other']) form.append('refresh_token', token);
    const response = await fetch(`${origin}/oauth/token`, { method: 'POST', body: form });
    expect([response.status, await response.json()]).toMatchObject([400, { error: 'invalid_request' }]);
  });

  // docs/rules.md#code-flow
  test('of many who use one refresh token at a time three get a successor that lives, and the others end nothing', async () => {
    const { client, tokens } = await signedIn(origin);
    uses.together(6);
    const all = await Promise.all(Array.from({ length: 6 }, () => refresh(origin, client, tokens.refresh_token)));
    for (const loser of all) if (loser.status !== 200) expect(loser).toMatchObject(refused('invalid_grant'));
    const winners = all.filter(({ status }) => status === 200);
    expect(new Set(winners.map(({ body }) => body.refresh_token)).size).toBe(3);
    // As two tabs do that share a store, each with a successor of its own.
    for (const { body } of winners) {
      const next = await refresh(origin, client, body.refresh_token);
      expect((await refresh(origin, client, next.body.refresh_token)).status).toBe(200);
    }
  });

  test('a refresh that asks for another resource or scope is refused, and does not use the token up', async () => {
    const { client, tokens } = await signedIn(origin);
    const token = tokens.refresh_token;
    expect(await refresh(origin, client, token, { resource: 'https://elsewhere.example/api' })).toMatchObject(
      refused('invalid_target'),
    );
    expect(await refresh(origin, client, token, { scope: 'read write' })).toMatchObject(refused('invalid_scope'));
    uses.later(10);
    expect((await refresh(origin, client, token, { resource: `${service.baseUrl}/`, scope: 'read' })).status).toBe(200);
  });

  // docs/rules.md#revocation, #access-tokens
  test('a revoked refresh token ends its family; another client can’t revoke it, and nobody an access token', async () => {
    const { client, tokens } = await signedIn(origin);
    const other = await register(origin);
    const revoke = async ({ client_id }: Client, token: string) => {
      const body = new URLSearchParams({ client_id, token });
      return (await fetch(`${origin}/oauth/revoke`, { method: 'POST', body })).status;
    };
    expect(await revoke(other, tokens.refresh_token)).toBe(200);
    const second = await refresh(origin, client, tokens.refresh_token);
    expect(second.status).toBe(200);
    expect(await revoke(client, tokens.access_token)).toBe(400);
    expect(await revoke(client, tokens.refresh_token)).toBe(200);
    expect(await refresh(origin, client, second.body.refresh_token)).toMatchObject(refused('invalid_grant'));
    expect((await nights(service.baseUrl, tokens.access_token)).status).toBe(200);
  });

  test('where it is not known who exists, codes and refresh tokens are not used up', async () => {
    const client = await register(origin);
    const { code, pkce } = await codeFor(origin, client);
    const away = { status: 503, body: { error: 'temporarily_unavailable' } };
    const redeeming = () => redeem(origin, client, code, pkce.verifier);
    service.riders.away = true;
    expect(await redeeming()).toMatchObject(away);
    service.riders.away = false;
    const { refresh_token: token } = (await redeeming()).body;
    service.riders.away = true;
    expect(await refresh(origin, client, token)).toMatchObject(away);
    service.riders.away = false;
    uses.later(10);
    expect((await refresh(origin, client, token)).status).toBe(200);
  });
});

// docs/rules.md#code-flow, #consent
test('an expired code and an expired grant give no tokens, and refreshing extends no grant', async () => {
  const service = await startSignInService({ lifetimes: { code: 4, grant: 5 } });
  const client = await register(service.origin);
  const { code, pkce } = await codeFor(service.origin, client);
  const { client: other, tokens } = await signedIn(service.origin);
  const second = await refresh(service.origin, other, tokens.refresh_token);
  expect(second.status).toBe(200);
  await sleep(5100);
  const refused = { status: 400, body: { error: 'invalid_grant' } };
  const late = await redeem(service.origin, client, code, pkce.verifier);
  expect(late).toMatchObject({ ...refused, body: { error_description: expect.stringContaining('expired') } });
  expect(await refresh(service.origin, other, second.body.refresh_token)).toMatchObject(refused);
  await service.close();
});
