import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  authorizeUrl,
  type Client,
  callback,
  codeFor,
  redeem,
  refresh,
  register,
  tokenRequest,
} from '../../../support/sign-in/sign-in-flow.ts';
import { startSignInService, type TestService } from '../../../support/sign-in/sign-in-service.ts';
import { newPkce } from '../../../support/sign-in/test-browser.ts';

const post = async (origin: string, body: string, type = 'application/json') => {
  const headers = { 'content-type': type, origin: 'https://app.example' };
  const response = await fetch(`${origin}/oauth/register`, { method: 'POST', body, headers });
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as Client & Record<string, unknown>,
  };
};

describe('dynamic registration', () => {
  let service: TestService;
  let origin: string;
  beforeAll(async () => {
    service = await startSignInService();
    origin = service.origin;
  });
  afterAll(async () => {
    await service.close();
  });

  test('makes public clients, and confidential ones with a secret that is then needed', async () => {
    const { status, body } = await post(origin, JSON.stringify({ redirect_uris: [callback] }));
    expect(status).toBe(201);
    expect(body).toMatchObject({
      client_id: expect.any(String),
      client_secret: expect.stringMatching(/^[\w-]{43,}$/),
      client_secret_expires_at: 0,
      token_endpoint_auth_method: 'client_secret_basic',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      redirect_uris: [callback],
    });
    expect(body.registration_access_token).toBeUndefined();
    const { code, pkce } = await codeFor(origin, body);
    expect(await redeem(origin, body, code, pkce.verifier)).toMatchObject({
      status: 401,
      body: { error: 'invalid_client' },
    });
    const basic = (secret: string) => `Basic ${Buffer.from(`${body.client_id}:${secret}`).toString('base64')}`;
    const form = {
      grant_type: 'authorization_code',
      code,
      code_verifier: pkce.verifier,
      redirect_uri: callback,
    };
    for (const authorization of [basic('wrong'), basic(`${body.client_secret}x`)])
      expect(await tokenRequest(origin, form, { authorization })).toMatchObject({
        status: 401,
        body: { error: 'invalid_client' },
      });
    expect((await tokenRequest(origin, form, { authorization: basic(body.client_secret!) })).status).toBe(200);
  });

  test('takes the metadata’s own scopes, and leaves out what means nothing here', async () => {
    const metadata = (await (await fetch(`${origin}/.well-known/oauth-authorization-server`)).json()) as {
      scopes_supported: string[];
    };
    const { status, body } = await post(
      origin,
      JSON.stringify({
        redirect_uris: [callback],
        token_endpoint_auth_method: 'none',
        scope: metadata.scopes_supported.join(' '),
        grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
        response_types: ['code', 'id_token'],
        id_token_signed_response_alg: 'RS256',
        default_max_age: 60,
        software_id: 'x',
        jwks_uri: 'http://169.254.169.254/',
        client_id: 'mine',
        unknown: { a: 1 },
      }),
    );
    expect(status).toBe(201);
    expect(body.client_id).not.toBe('mine');
    expect([body.grant_types, body.response_types]).toEqual([['authorization_code', 'refresh_token'], ['code']]);
    expect(body.unknown).toBeUndefined();
    for (const member of ['default_max_age', 'software_id', 'jwks_uri']) expect(body).not.toHaveProperty(member);
    expect((await codeFor(origin, body)).code).not.toBe('');
  });

  test.each([
    ['no addresses', { redirect_uris: [] }, 'invalid_redirect_uri'],
    ['a plain http address', { redirect_uris: ['http://app.example/cb'] }, 'invalid_redirect_uri'],
    ['the implicit flow', { grant_types: ['implicit'], response_types: ['token'] }, 'invalid_client_metadata'],
    ['passwords', { grant_types: ['password'] }, 'invalid_client_metadata'],
    ['another scope', { scope: 'read write' }, 'invalid_client_metadata'],
    ['keys to authenticate', { token_endpoint_auth_method: 'private_key_jwt' }, 'invalid_client_metadata'],
    ['a name that turns text around', { client_name: 'a\u202eb' }, 'invalid_client_metadata'],
  ])('refuses %s', async (_, more, error) => {
    const answer = await post(origin, JSON.stringify({ redirect_uris: [callback], ...more }));
    expect(answer).toMatchObject({ status: 400, body: { error, error_description: expect.any(String) } });
  });

  test('refuses bodies that are no JSON object, or too long', async () => {
    for (const [body, type, status] of [
      ['{', 'application/json', 400],
      ['[]', 'application/json', 400],
      ['null', 'application/json', 400],
      ['', 'application/json', 400],
      ['a=b', 'application/x-www-form-urlencoded', 415],
      ['{}', 'json', 415],
      [JSON.stringify({ client_name: 'x'.repeat(20_000) }), 'application/json', 413],
    ] as const)
      expect(await post(origin, body, type)).toMatchObject({ status, body: { error: 'invalid_request' } });
  });

  test('offers no way to read or change a client afterwards', async () => {
    const { client_id } = await register(origin);
    for (const method of ['GET', 'PUT', 'DELETE'])
      expect((await fetch(`${origin}/oauth/register/${client_id}`, { method })).status).toBe(404);
  });

  test('ends when nobody uses the client, and not while somebody does', async () => {
    const short = await startSignInService({ lifetimes: { unusedClient: 10, usedClient: 60 } });
    const [used, unused] = [await register(short.origin), await register(short.origin)];
    const { code, pkce } = await codeFor(short.origin, used);
    const { body } = await redeem(short.origin, used, code, pkce.verifier);
    await sleep(10_200);
    expect((await refresh(short.origin, used, body.refresh_token)).status).toBe(200);
    const gone = await fetch(authorizeUrl(short.origin, unused, newPkce()), { redirect: 'manual' });
    expect([gone.status, await gone.text()]).toEqual([400, expect.stringContaining('invalid_client')]);
    await short.close();
  });

  test('under the name of the service or of the operator’s client is refused, by a document too', async () => {
    const client_id = 'https://app.example/client.json';
    const named = (client_name: string) => ({ client_name, redirect_uris: [callback] });
    const own = await startSignInService({
      clients: [{ client_id: 'site', token_endpoint_auth_method: 'none', ...named('Portland Rides') }],
      metadataFetch: async () => Response.json({ client_id, ...named('portland rides') }),
    });
    for (const name of ['ride calendar', 'Portland  Rides', 'Connected Apps']) {
      const { status, body } = await post(own.origin, JSON.stringify(named(name)));
      expect([status, body.error, body.error_description]).toEqual([
        400,
        'invalid_client_metadata',
        'client_name is that of this service or of another app here',
      ]);
    }
    const asked = await fetch(authorizeUrl(own.origin, { client_id }, newPkce()), { redirect: 'manual' });
    expect([asked.status, await asked.text()]).toEqual([400, expect.stringContaining('introduced itself wrongly')]);
    const known = await fetch(authorizeUrl(own.origin, { client_id: 'site' }, newPkce()), { redirect: 'manual' });
    expect(known.status).toBe(303);
    await own.close();
  });

  test('that is off is neither offered nor there', async () => {
    const closed = await startSignInService({ registration: false });
    const metadata = await (await fetch(`${closed.origin}/.well-known/oauth-authorization-server`)).json();
    expect(metadata).not.toHaveProperty('registration_endpoint');
    expect((await fetch(`${closed.origin}/oauth/register`, { method: 'POST' })).status).toBe(404);
    await closed.close();
  });
});
