import * as oauth from 'oauth4webapi';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { approve, callback, tokenRequest } from '../../../support/sign-in/sign-in-flow.ts';
import { startSignInService, type TestService } from '../../../support/sign-in/sign-in-service.ts';
import { TestBrowser } from '../../../support/sign-in/test-browser.ts';

const secret = 'a-secret-of-at-least-32-characters';
const insecure = { [oauth.allowInsecureRequests]: true };
let service: TestService;
beforeAll(async () => {
  service = await startSignInService({
    clients: [
      {
        client_id: 'site',
        client_secret: secret,
        token_endpoint_auth_method: 'client_secret_basic',
        redirect_uris: [callback],
      },
      {
        client_id: 'poster',
        // While it is changed: the old one and the new one.
        client_secret: ['another-secret-of-32-characters-or-more', secret],
        token_endpoint_auth_method: 'client_secret_post',
        redirect_uris: [callback],
      },
    ],
  });
});
afterAll(() => service.close());

// As an MCP client does.
test('oauth4webapi, knowing only the base path, finds everything out from a 401, and signs in with a client that it registers', async () => {
  const resource = service.baseUrl;
  const refused = await fetch(`${resource}/me/nights`);
  expect(refused.status).toBe(401);
  const named = /resource_metadata="([^"]+)"/.exec(refused.headers.get('www-authenticate')!)![1]!;
  const described = await fetch(named, { headers: { 'mcp-protocol-version': '2025-11-25' } });
  const metadata = await oauth.processResourceDiscoveryResponse(new URL(resource), described);
  const issuer = new URL(metadata.authorization_servers![0]!);
  const server = await oauth.processDiscoveryResponse(
    issuer,
    await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure }),
  );
  expect(server.code_challenge_methods_supported).toContain('S256');
  const metadataOfClient = {
    client_name: 'MCP client',
    redirect_uris: [callback],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  };
  const registered = await oauth.dynamicClientRegistrationRequest(server, metadataOfClient, insecure);
  const client = await oauth.processDynamicClientRegistrationResponse(registered);
  const verifier = oauth.generateRandomCodeVerifier();
  const state = oauth.generateRandomState();
  const url = new URL(server.authorization_endpoint!);
  url.search = new URLSearchParams({
    response_type: 'code',
    client_id: client.client_id,
    redirect_uri: callback,
    scope: metadata.scopes_supported!.join(' '),
    resource: metadata.resource,
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  }).toString();
  const end = await approve(new TestBrowser(issuer.origin), url.href);
  // Checks state, and by `iss` that the answer is this server's (docs/rules.md#issuer, RFC 9207).
  const params = oauth.validateAuthResponse(server, client, end, state);
  const redeemed = await oauth.authorizationCodeGrantRequest(server, client, oauth.None(), params, callback, verifier, {
    additionalParameters: { resource: metadata.resource },
    ...insecure,
  });
  const tokens = await oauth.processAuthorizationCodeResponse(server, client, redeemed);
  const read = await oauth.protectedResourceRequest(
    tokens.access_token,
    'GET',
    new URL(`${resource}/me/nights`),
    undefined,
    undefined,
    insecure,
  );
  // As a resource server would check it, from the published keys (RFC 9068).
  const checked = await oauth.validateJwtAccessToken(
    server,
    new Request(`${resource}/me/nights`, { headers: { authorization: `Bearer ${tokens.access_token}` } }),
    metadata.resource,
    insecure,
  );
  expect(read.status).toBe(200);
  expect(checked).toMatchObject({ sub: 'rider-ada', scope: 'read', aud: service.baseUrl });
});

describe('a client that has a secret', () => {
  const basic = { authorization: `Basic ${Buffer.from(`site:${secret}`).toString('base64')}` };
  const form = { grant_type: 'refresh_token', refresh_token: 'x' };

  test.each([
    ['by basic', form, basic, 'invalid_grant'],
    ['by form', { ...form, client_id: 'poster', client_secret: secret }, {}, 'invalid_grant'],
    ['not at all', { ...form, client_id: 'site' }, {}, 'invalid_client'],
    ['both ways', { ...form, client_secret: secret }, basic, 'invalid_request'],
  ])('shows it %s', async (_, body, headers, error) => {
    const answer = await tokenRequest(service.origin, body, headers);
    expect(answer.body.error).toBe(error);
    const revoked = await fetch(`${service.origin}/oauth/revoke`, {
      method: 'POST',
      body: new URLSearchParams({ ...body, token: 'x' }),
      headers,
    });
    expect(revoked.status).toBe({ invalid_grant: 200, invalid_client: 401, invalid_request: 400 }[error]!);
    expect(revoked.headers.get('cache-control')).toBe('no-store');
  });
});

describe('programs in browsers of other origins', () => {
  test('may not ask for pages', async () => {
    for (const path of ['/oauth/authorize', '/oauth/connected-apps', '/oauth/sign-out']) {
      const answer = await fetch(service.origin + path, {
        headers: { origin: 'https://app.example' },
        redirect: 'manual',
      });
      expect([path, answer.headers.get('access-control-allow-origin')]).toEqual([path, null]);
      expect((await fetch(service.origin + path, { method: 'OPTIONS' })).status).toBe(405);
    }
  });

  // docs/rules.md#options
  test.each([
    ['/oauth/token', 'POST, OPTIONS'],
    ['/oauth/revoke', 'POST, OPTIONS'],
    ['/oauth/register', 'POST, OPTIONS'],
    ['/oauth/jwks', 'GET, HEAD, OPTIONS'],
    ['/.well-known/oauth-authorization-server', 'GET, HEAD, OPTIONS'],
    ['/.well-known/oauth-protected-resource/api', 'GET, HEAD, OPTIONS'],
  ])('may ask for %s, whatever their OPTIONS carries', async (path, allow) => {
    for (const more of [{}, { headers: { 'content-type': 'no type' }, body: '{' }]) {
      const headers = { 'access-control-request-method': 'POST', ...more.headers };
      const answer = await fetch(service.origin + path, { method: 'OPTIONS', ...more, headers });
      expect(answer.status).toBe(204);
      expect(Object.fromEntries(answer.headers)).toMatchObject({
        allow,
        'access-control-allow-origin': '*',
        'access-control-allow-methods': allow,
      });
    }
  });
});

test('the published keys have no private part', async () => {
  const { keys } = (await (await fetch(`${service.origin}/oauth/jwks`)).json()) as { keys: Record<string, unknown>[] };
  const { d: _, ...published } = service.keys[0];
  expect(keys).toEqual([published]);
});

// docs/rules.md#metadata, #code-flow
test('metadata says what is offered, and nothing else', async () => {
  const { origin, baseUrl } = service;
  expect(await (await fetch(`${origin}/.well-known/oauth-authorization-server`)).json()).toEqual({
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
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
    protected_resources: [baseUrl],
    service_documentation: `${origin}/docs`,
  });
  expect(await (await fetch(`${origin}/.well-known/oauth-protected-resource/api`)).json()).toEqual({
    resource: baseUrl,
    authorization_servers: [origin],
    scopes_supported: ['read'],
    bearer_methods_supported: ['header'],
    resource_name: 'Ride Calendar',
    resource_documentation: `${origin}/docs`,
  });
  expect((await fetch(`${origin}/.well-known/oauth-protected-resource`)).status).toBe(404);
});
