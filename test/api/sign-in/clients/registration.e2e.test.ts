import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { StateStore } from '../../../../api/ports/sign-in-state.ts';
import { memorySignInState } from '../../../../infra/memory/memory-sign-in-state.ts';
import {
  type Client,
  callback,
  codeFor,
  redeem,
  register,
  tokenRequest,
} from '../../../support/sign-in/sign-in-flow.ts';
import { startSignInService, type TestService } from '../../../support/sign-in/sign-in-service.ts';

describe('dynamic registration', () => {
  let service: TestService;
  let origin: string;
  const lives: number[] = [];
  beforeAll(async () => {
    const state = memorySignInState();
    const store: StateStore = {
      ...state,
      async put(kind, id, payload, options) {
        if (kind === 'Client') lives.push(options.lifeSeconds);
        await state.put(kind, id, payload, options);
      },
      async extend(kind, id, lifeSeconds) {
        if (kind === 'Client') lives.push(lifeSeconds);
        await state.extend(kind, id, lifeSeconds);
      },
    };
    const site = { client_id: 'site', client_name: 'Portland Rides', redirect_uris: [callback] };
    service = await startSignInService({ store, clients: [{ ...site, token_endpoint_auth_method: 'none' }] });
    origin = service.origin;
  });
  afterAll(() => service.close());

  const post = async (body: unknown, type = 'application/json') => {
    const headers = { 'content-type': type, origin: 'https://app.example' };
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const response = await fetch(`${origin}/oauth/register`, { method: 'POST', body: text, headers });
    return { status: response.status, body: (await response.json()) as Client & Record<string, unknown> };
  };

  test('makes confidential clients, whose secret is then needed, and which end a while after their last use', async () => {
    const { status, body } = await post({ redirect_uris: [callback] });
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
    const refused = { status: 401, body: { error: 'invalid_client' } };
    expect(await redeem(origin, body, code, pkce.verifier)).toMatchObject(refused);
    const form = { grant_type: 'authorization_code', code, code_verifier: pkce.verifier, redirect_uri: callback };
    const by = (secret: string) => {
      const authorization = `Basic ${Buffer.from(`${body.client_id}:${secret}`).toString('base64')}`;
      return tokenRequest(origin, form, { authorization });
    };
    expect(await by(`${body.client_secret}x`)).toMatchObject(refused);
    expect((await by(body.client_secret!)).status).toBe(200);
    const day = 86_400;
    expect(lives).toEqual([day, 120 * day]);
  });

  test('leaves out what means nothing here', async () => {
    const { status, body } = await post({
      redirect_uris: [callback],
      token_endpoint_auth_method: 'none',
      scope: 'read',
      grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
      response_types: ['code', 'id_token'],
      id_token_signed_response_alg: 'RS256',
      default_max_age: 60,
      software_id: 'x',
      jwks_uri: 'http://169.254.169.254/',
      client_id: 'mine',
      unknown: { a: 1 },
    });
    expect(status).toBe(201);
    expect(body.client_id).not.toBe('mine');
    expect([body.grant_types, body.response_types]).toEqual([['authorization_code', 'refresh_token'], ['code']]);
    for (const member of ['default_max_age', 'software_id', 'jwks_uri', 'unknown'])
      expect(body).not.toHaveProperty(member);
    expect((await codeFor(origin, body)).code).not.toBe('');
  });

  // docs/rules.md#consent
  test.each([
    ['native', 'http://127.0.0.1/cb', 'web'],
    ['native', 'com.example.app:/cb', undefined],
    ['web', 'https://site.example/cb', undefined],
    ['native', 'https://site.example/cb', 'native'],
  ])('makes a %s client of one with the address %s that says %s', async (type, uri, application_type) => {
    const { body } = await post({ redirect_uris: [uri], ...(application_type && { application_type }) });
    expect(body.application_type).toBe(type);
  });

  test.each([
    ['no addresses', { redirect_uris: [] }, 'invalid_redirect_uri'],
    ['a plain http address', { redirect_uris: ['http://app.example/cb'] }, 'invalid_redirect_uri'],
    ['another scope', { scope: 'read write' }, 'invalid_client_metadata'],
    ['keys to authenticate', { token_endpoint_auth_method: 'private_key_jwt' }, 'invalid_client_metadata'],
    ['a name that turns text around', { client_name: 'a\u202eb' }, 'invalid_client_metadata'],
    ['the name of the service', { client_name: 'ride calendar' }, 'invalid_client_metadata'],
    ['the name of an app of the operator’s', { client_name: 'Portland  Rides' }, 'invalid_client_metadata'],
    ['the name of the service’s own page', { client_name: 'Connected Apps' }, 'invalid_client_metadata'],
  ])('refuses %s', async (_, more, error) => {
    const answer = await post({ redirect_uris: [callback], ...more });
    expect(answer).toMatchObject({ status: 400, body: { error, error_description: expect.any(String) } });
  });

  test.each([
    ['no JSON', '{', 'application/json', 400, 'invalid_request'],
    ['empty', '', 'application/json', 400, 'invalid_request'],
    ['no object', 'null', 'application/json', 400, 'invalid_redirect_uri'],
    ['a form', 'a=b', 'application/x-www-form-urlencoded', 415, 'invalid_request'],
    ['of no type', '{}', 'json', 415, 'invalid_request'],
    ['too long', JSON.stringify('x'.repeat(20_000)), 'application/json', 413, 'invalid_request'],
  ])('refuses a body that is %s', async (_, body, type, status, error) => {
    expect(await post(body, type)).toMatchObject({ status, body: { error } });
  });

  test('offers no way to read or change a client afterwards', async () => {
    const { client_id } = await register(origin);
    for (const method of ['GET', 'PUT', 'DELETE'])
      expect((await fetch(`${origin}/oauth/register/${client_id}`, { method })).status).toBe(404);
  });

  test('that is off is neither offered nor there', async () => {
    const closed = await startSignInService({ registration: false });
    const metadata = await (await fetch(`${closed.origin}/.well-known/oauth-authorization-server`)).json();
    expect(metadata).not.toHaveProperty('registration_endpoint');
    expect((await fetch(`${closed.origin}/oauth/register`, { method: 'POST' })).status).toBe(404);
    await closed.close();
  });
});
