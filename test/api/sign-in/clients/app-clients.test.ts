import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { basic, type Client, callback } from '../../../support/sign-in/sign-in-flow.ts';
import { startSignInService } from '../../../support/sign-in/sign-in-service.ts';

const secret = 'a-secret-of-at-least-32-characters';
const site = { client_name: 'Portland Rides', redirect_uris: [callback], client_secret: secret };
const once = { client_id: 'once' };
const service = await startSignInService({
  clients: [
    { ...site, client_id: 'site', token_endpoint_auth_method: 'client_secret_basic' },
    { ...site, client_id: 'poster', token_endpoint_auth_method: 'client_secret_post' },
    { ...once, redirect_uris: [callback], grant_types: ['authorization_code'], token_endpoint_auth_method: 'none' },
  ],
});
const { origin, register, authorizeUrl, codeFor, redeem, tokenRequest, signedIn } = service;

describe('dynamic registration', () => {
  const post = async (body: unknown, type = 'application/json') => {
    const headers = { 'content-type': type, origin: 'https://app.example' };
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const response = await fetch(`${origin}/oauth/register`, { method: 'POST', body: text, headers });
    return { status: response.status, body: (await response.json()) as Client & Record<string, unknown> };
  };

  test('makes confidential clients, whose secret is then needed', async () => {
    // A body may have 16 kB.
    const { status, body } = await post({ redirect_uris: [callback], unknown: 'x'.repeat(16_000) });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      client_secret: expect.stringMatching(/^[\w-]{43,}$/),
      client_secret_expires_at: 0,
      token_endpoint_auth_method: 'client_secret_basic',
      grant_types: ['authorization_code', 'refresh_token'],
      redirect_uris: [callback],
    });
    expect(body.registration_access_token).toBeUndefined();
    const { code, pkce } = await codeFor(body);
    const form = { grant_type: 'authorization_code', code, code_verifier: pkce.verifier, redirect_uri: callback };
    expect((await tokenRequest({ ...form, client_id: body.client_id })).status).toBe(401);
    expect((await tokenRequest(form, basic(body.client_id, `${body.client_secret}x`))).status).toBe(401);
    expect((await tokenRequest(form, basic(body.client_id, body.client_secret!))).status).toBe(200);
  });

  test('ends a day after it was made, or 120 days after its last use', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    onTestFinished(() => void vi.useRealTimers());
    const [{ client }, unused] = [await signedIn(), await register()];
    const madeMs = Date.now();
    const statusAfter = async (of: Client, days: number) => {
      vi.setSystemTime(madeMs + days * 86_400_000);
      return (await fetch(authorizeUrl(of), { redirect: 'manual' })).status;
    };
    expect([await statusAfter(unused, 0.9), await statusAfter(unused, 1.1)]).toEqual([303, 400]);
    expect([await statusAfter(client, 119), await statusAfter(client, 121)]).toEqual([303, 400]);
  });

  // docs/rules.md#scope
  test.each(['openid email offline_access', 7])(
    'has scope read, and nothing of what means nothing here: %j',
    async (scope) => {
      const { status, body } = await post({
        redirect_uris: [callback],
        token_endpoint_auth_method: 'none',
        grant_types: ['authorization_code', 'urn:ietf:params:oauth:grant-type:device_code'],
        response_types: ['code', 'id_token'],
        jwks_uri: 'http://169.254.169.254/',
        client_id: 'mine',
        scope,
      });
      expect([status, body.scope, body.jwks_uri, body.client_id === 'mine']).toEqual([201, 'read', undefined, false]);
      expect([body.grant_types, body.response_types]).toEqual([['authorization_code', 'refresh_token'], ['code']]);
      await codeFor(body);
    },
  );

  // docs/rules.md#consent
  test.each([
    ['native', 'http://127.0.0.1/cb', 'web'],
    ['web', 'https://site.example/cb', undefined],
    ['native', 'https://site.example/cb', 'native'],
  ])('makes a %s client of one with the address %s that says %s', async (type, uri, application_type) => {
    const { body } = await post({ redirect_uris: [uri], ...(application_type && { application_type }) });
    expect(body.application_type).toBe(type);
  });

  const web = { redirect_uris: ['https://site.example/cb'] };
  const keys = { token_endpoint_auth_method: 'private_key_jwt' };
  // What is refused of any client, clients.test.ts has.
  test.each<[string, object, string?, string?]>([
    ['a plain http address', { redirect_uris: ['http://app.example/cb'] }, 'invalid_redirect_uri', 'must be https'],
    ['addresses that are no texts', { redirect_uris: [{ toString: 1 }] }, 'invalid_redirect_uri'],
    ['keys in place of a secret', keys, 'invalid_client_metadata', 'must be one of none, client_secret'],
    ['http to sign out to', { ...web, post_logout_redirect_uris: ['http://a.example/'] }],
    ['a name that turns text around', { client_name: 'a\u202eb' }],
    ['the name of an app of the operator’s', { client_name: 'Portland  Rides' }],
    ['the name of the service’s own page', { client_name: 'Connected Apps' }],
  ])('refuses %s', async (_, more, error = 'invalid_client_metadata', words = '') => {
    const answer = await post({ redirect_uris: [callback], ...more });
    expect(answer).toMatchObject({ status: 400, body: { error, error_description: expect.stringContaining(words) } });
  });

  test.each([
    ['no JSON', '{', 'application/json', 400, 'invalid_request'],
    ['no object', 'null', 'application/json', 400, 'invalid_redirect_uri'],
    ['a form', 'a=b', 'application/x-www-form-urlencoded', 415, 'invalid_request'],
    ['too long', JSON.stringify('x'.repeat(20_000)), 'application/json', 413, 'invalid_request'],
  ])('refuses a body that is %s', async (_, body, type, status, error) => {
    expect(await post(body, type)).toMatchObject({ status, body: { error } });
  });
});

test.each([
  ['by basic', {}, basic('site', secret), 400, 200],
  ['by form', { client_id: 'poster', client_secret: secret }, {}, 400, 200],
  ['not at all', { client_id: 'site' }, {}, 401, 401],
])('a client that has a secret shows it %s', async (_, more, headers, ofRefresh, ofRevocation) => {
  const form = { grant_type: 'refresh_token', refresh_token: 'x', token: 'x', ...more };
  expect((await tokenRequest(form, headers)).status).toBe(ofRefresh);
  const request = { method: 'POST', body: new URLSearchParams(form), headers };
  expect((await fetch(`${origin}/oauth/revoke`, request)).status).toBe(ofRevocation);
});

test('a client that does not want refresh tokens gets none', async () => {
  const { code, pkce } = await codeFor(once);
  const { status, body } = await redeem(once, code, pkce.verifier);
  expect([status, body.access_token === undefined, body.refresh_token]).toEqual([200, false, undefined]);
});

// docs/rules.md#metadata, #code-flow
test('metadata says what is offered, and nothing else; the published keys have no private part', async () => {
  const { baseUrl } = service;
  const read = async (path: string) => {
    const answer = await fetch(origin + path);
    const { headers } = answer;
    expect(headers.get('cache-control')).toBe('public, max-age=300');
    expect(headers.get('content-type')).toMatch(/^application\/(jwk-set\+)?json/);
    return await answer.json();
  };
  const { d: _, ...published } = service.keys[0];
  expect(await read('/oauth/jwks')).toEqual({ keys: [published] });
  expect(await read('/.well-known/oauth-authorization-server')).toEqual({
    issuer: origin,
    authorization_endpoint: `${origin}/oauth/authorize`,
    token_endpoint: `${origin}/oauth/token`,
    jwks_uri: `${origin}/oauth/jwks`,
    registration_endpoint: `${origin}/oauth/register`,
    scopes_supported: ['read'],
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    token_endpoint_auth_methods_supported: ['none', 'client_secret_basic', 'client_secret_post'],
    revocation_endpoint: `${origin}/oauth/revoke`,
    revocation_endpoint_auth_methods_supported: ['none', 'client_secret_basic', 'client_secret_post'],
    end_session_endpoint: `${origin}/oauth/sign-out`,
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
    protected_resources: [baseUrl],
    service_documentation: `${origin}/docs`,
  });
  expect(await read('/.well-known/oauth-protected-resource/api')).toEqual({
    resource: baseUrl,
    authorization_servers: [origin],
    scopes_supported: ['read'],
    bearer_methods_supported: ['header'],
    resource_name: 'Ride Calendar',
    resource_documentation: `${origin}/docs`,
  });
});
