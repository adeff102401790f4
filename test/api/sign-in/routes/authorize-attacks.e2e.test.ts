import { type IncomingHttpHeaders, request } from 'node:http';
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  authorizeUrl,
  type Client,
  callback,
  codeFor,
  nights,
  redeem,
  register,
} from '../../../support/sign-in/sign-in-flow.ts';
import { startSignInService, type TestService } from '../../../support/sign-in/sign-in-service.ts';
import { csrfOf, newPkce, TestBrowser } from '../../../support/sign-in/test-browser.ts';

let service: TestService;
let origin: string;
let client: Client;
beforeAll(async () => {
  service = await startSignInService({
    // A trusted proxy's headers say who asks. They too change no URL.
    trustProxy: ['127.0.0.1'],
    clients: [
      {
        client_id: 'two-addresses',
        token_endpoint_auth_method: 'none',
        redirect_uris: ['https://app.example/cb', 'https://app.example/cb?x=1'],
      },
      { client_id: 'named', token_endpoint_auth_method: 'none', redirect_uris: [callback] },
    ],
  });
  origin = service.origin;
  client = await register(origin);
});
afterAll(async () => {
  await service.close();
});

const ask = async (more: Record<string, string>, by: Client = client) => {
  const response = await fetch(authorizeUrl(origin, by, newPkce(), more), { redirect: 'manual' });
  return { status: response.status, location: response.headers.get('location'), page: await response.text() };
};

describe('an authorization request', () => {
  test.each([
    ['one character more', `${callback}x`],
    ['one character less', callback.slice(0, -1)],
    ['another case', callback.replace('callback', 'Callback')],
    ['a slash more', `${callback}/`],
    ['a query', `${callback}?x=1`],
    ['a fragment', `${callback}#x`],
    ['a path that leads back', 'http://127.0.0.1:9/x/../callback'],
    ['a user', 'http://127.0.0.1@evil.example/callback'],
    ['another host', 'https://evil.example/callback'],
    ['a host that begins alike', 'http://127.0.0.1.evil.example/callback'],
    ['another scheme', 'javascript:alert(1)'],
    ['no scheme', '//evil.example/callback'],
    ['another loopback name', 'http://localhost:9/callback'],
  ])('with a redirect URI with %s goes nowhere', async (_, redirect_uri) => {
    const { status, location, page } = await ask({ redirect_uri });
    expect([status, location]).toEqual([400, null]);
    expect(page).toContain('invalid_redirect_uri');
    expect(page).not.toContain('evil.example');
  });

  // docs/rules.md#redirect-uris
  test('from a native client may name any port of its loopback address, and no other client may', async () => {
    expect((await ask({ redirect_uri: 'http://127.0.0.1:54321/callback' })).status).toBe(303);
    const web = { client_id: 'two-addresses' };
    expect((await ask({ redirect_uri: 'https://app.example:444/cb' }, web)).status).toBe(400);
    expect((await ask({ redirect_uri: 'https://app.example/cb?x=1' }, web)).status).toBe(303);
    // With two addresses registered, one has to be named.
    expect((await ask({ redirect_uri: '' }, web)).status).toBe(400);
  });

  // docs/rules.md#redirect-uris
  test('of an unknown client goes nowhere, and makes no link of the address that it names', async () => {
    for (const client_id of ['x'.repeat(3000), '../../etc', 'https://evil.example/client.json', '%00']) {
      const { status, location, page } = await ask({}, { client_id });
      expect([client_id, status, location]).toEqual([client_id, 400, null]);
      expect(page).toContain('invalid_client');
    }
    const addresses = [
      'https://evil.example/login',
      'javascript:alert(1)',
      'smb://evil/x',
      'x',
      '//evil.example',
      'http://',
    ];
    for (const redirect_uri of addresses) {
      for (const client_id of ['nobody', '']) {
        const { status, location, page } = await ask({ redirect_uri }, { client_id });
        expect([redirect_uri, status, location]).toEqual([redirect_uri, 400, null]);
        expect(page).not.toContain('href="https://evil');
        expect(page).not.toMatch(/javascript:|smb:|evil\.example\/login\?/);
      }
    }
  });

  const faulty: [string, Record<string, string>, string][] = [
    ['without PKCE', { code_challenge: '', code_challenge_method: '' }, 'invalid_request'],
    ['with PKCE by plain text', { code_challenge_method: 'plain' }, 'invalid_request'],
    ['with a method of PKCE left to default to plain', { code_challenge_method: '' }, 'invalid_request'],
    ['with a challenge too short', { code_challenge: 'short' }, 'invalid_request'],
    ['for a token at once', { response_type: 'token' }, 'unsupported_response_type'],
    ['for an id token', { response_type: 'id_token' }, 'unsupported_response_type'],
    ['for code and token', { response_type: 'code token' }, 'unsupported_response_type'],
    ['for an answer by form', { response_mode: 'form_post' }, 'unsupported_response_mode'],
    ['for an answer in the fragment', { response_mode: 'fragment' }, 'unsupported_response_mode'],
    ['for an answer by message', { response_mode: 'web_message' }, 'unsupported_response_mode'],
    ['for more than read', { scope: 'read write' }, 'invalid_scope'],
    ['for other than read', { scope: 'write' }, 'invalid_scope'],
    ['for an identity', { scope: 'openid read' }, 'invalid_scope'],
    ['for another resource', { resource: 'https://elsewhere.example/api' }, 'invalid_target'],
    ['for a resource above ours', { resource: 'http://127.0.0.1/' }, 'invalid_target'],
    ['with a request object', { request: 'e30.e30.' }, 'request_not_supported'],
    ['with a request by reference', { request_uri: 'http://127.0.0.1:1/x' }, 'request_uri_not_supported'],
    ['with registration within', { registration: '{}' }, 'registration_not_supported'],
    ['without pages, of nobody signed in', { prompt: 'none' }, 'login_required'],
    ['with an unknown prompt', { prompt: 'create' }, 'invalid_request'],
  ];
  test.each(faulty)(
    'of a client that the operator named, %s, is answered in the query, with the issuer',
    async (_, more, error) => {
      const { status, location } = await ask(more, { client_id: 'named' });
      expect(status).toBe(303);
      const url = new URL(location!);
      expect([url.origin + url.pathname, url.hash]).toEqual([callback, '']);
      expect(Object.fromEntries(url.searchParams)).toMatchObject({ error, state: 'the-state', iss: origin });
      expect(url.searchParams.has('code')).toBe(false);
    },
  );

  test.each(faulty.filter(([, , error], i, all) => all.findIndex((each) => each[2] === error) === i))(
    'of a client that introduced itself, %s, sends nobody away without a click',
    async (_, more, error) => {
      const { status, location, page } = await ask(more);
      expect([status, location]).toEqual([400, null]);
      expect(page).toContain(`<code>${error}</code>`);
      const link = /<a href="([^"]+)">Go on to an app on this device<\/a>/.exec(page)![1]!;
      const url = new URL(link.replaceAll('&#38;', '&'));
      expect([url.origin + url.pathname, url.hash]).toEqual([callback, '']);
      expect(Object.fromEntries(url.searchParams)).toMatchObject({ error, state: 'the-state', iss: origin });
    },
  );

  test('with a parameter given twice is refused', async () => {
    for (const name of ['state', 'scope', 'code_challenge', 'client_id', 'redirect_uri']) {
      const url = `${authorizeUrl(origin, { client_id: 'named' }, newPkce())}&${name}=read&${name}=other`;
      const response = await fetch(url, { redirect: 'manual' });
      const location = response.headers.get('location');
      expect([name, location === null ? response.status : new URL(location).searchParams.get('error')]).toEqual([
        name,
        expect.toBeOneOf([400, 'invalid_request']),
      ]);
    }
  });

  // docs/rules.md#scope, #resource
  test('without scope, without resource, or with the resource’s address and a slash gets a token for read', async () => {
    for (const more of [
      { scope: '' },
      { scope: ' ' },
      { scope: 'read offline_access' },
      { resource: service.baseUrl },
      { resource: `${service.baseUrl}/` },
    ] as Record<string, string>[]) {
      const { code, pkce } = await codeFor(origin, client, more);
      const { body } = await redeem(
        origin,
        client,
        code,
        pkce.verifier,
        more.resource ? { resource: more.resource } : {},
      );
      expect(decodeJwt(body.access_token)).toMatchObject({ scope: 'read', aud: service.baseUrl });
      expect((await nights(service.baseUrl, body.access_token)).status).toBe(200);
    }
  });

  test('has no other of oidc-provider’s endpoints beside it', async () => {
    for (const path of [
      '/oauth/me',
      '/oauth/request',
      '/oauth/introspection',
      '/oauth/device/auth',
      '/oauth',
      '/.well-known/openid-configuration',
    ])
      expect([path, (await fetch(origin + path)).status]).toEqual([path, 404]);
  });
});

// docs/rules.md#base-url
describe('headers that name another host', () => {
  const forged = {
    host: 'evil.example',
    'x-forwarded-host': 'evil.example',
    'x-forwarded-proto': 'https',
    'x-forwarded-for': '8.8.8.8',
    'x-forwarded-port': '443',
    forwarded: 'host=evil.example;proto=https',
  };
  const send = (path: string, method = 'GET', form?: string, target = path) =>
    new Promise<{ status: number; text: string; headers: IncomingHttpHeaders }>((resolve, reject) => {
      const { hostname, port } = new URL(origin);
      const headers = { ...forged, ...(form && { 'content-type': 'application/x-www-form-urlencoded' }) };
      const asked = request({ hostname, port, path: target, method, headers }, (response) => {
        let text = JSON.stringify(response.headers);
        response.on('data', (chunk) => {
          text += chunk;
        });
        response.on('end', () => resolve({ status: response.statusCode!, text, headers: response.headers }));
      });
      asked.on('error', reject);
      asked.end(form);
    });

  test.each([
    ['/.well-known/oauth-authorization-server'],
    ['/.well-known/oauth-protected-resource/api'],
    ['/api/me/nights'],
    ['/oauth/jwks'],
    ['/oauth/connected-apps'],
    ['/oauth/sign-out'],
    ['/oauth/authorize?client_id=nobody'],
  ])('change nothing at %s', async (path) => {
    expect((await send(path)).text).not.toContain('evil.example');
  });

  test('change nothing in an authorization, nor in a token', async () => {
    const started = await send(
      new URL(authorizeUrl(origin, client, newPkce())).pathname +
        new URL(authorizeUrl(origin, client, newPkce())).search,
    );
    expect(started.text).not.toContain('evil.example');
    const { code, pkce } = await codeFor(origin, client);
    const form = new URLSearchParams({
      grant_type: 'authorization_code',
      client_id: client.client_id,
      code,
      code_verifier: pkce.verifier,
      redirect_uri: callback,
    });
    const { status, text } = await send('/oauth/token', 'POST', form.toString());
    expect(status).toBe(200);
    const { access_token } = JSON.parse(text.slice(text.lastIndexOf('{'))) as { access_token: string };
    expect(decodeJwt(access_token)).toMatchObject({ iss: origin, aud: service.baseUrl });
  });

  test('are not where the browser is sent on to, once the rider has said who they are', async () => {
    const { pathname, search } = new URL(authorizeUrl(origin, client, newPkce()));
    const { headers: started } = await send(pathname + search);
    const cookie = started['set-cookie']!.map((line) => line.split(';')[0]).join('; ');
    const page = await (await fetch(origin + started.location!, { headers: { cookie } })).text();
    const picked = await fetch(origin + started.location!, {
      method: 'POST',
      headers: { cookie },
      body: new URLSearchParams({ csrf: csrfOf(page), do: 'pick', rider: 'rider-ada' }),
      redirect: 'manual',
    });
    expect(picked.headers.get('location')).toMatch(new RegExp(`^${origin}/oauth/authorize/`));
    for (const line of started['set-cookie']!) expect(line).not.toMatch(/; secure/i);
  });

  test('nor does a whole URL as the request’s target', async () => {
    const metadata = '/.well-known/oauth-authorization-server';
    for (const path of [metadata, '/oauth/authorize?client_id=nobody', '/oauth/connected-apps'])
      expect((await send(path, 'GET', undefined, `http://evil.example${path}`)).text).not.toMatch(
        /"(location|issuer|authorization_endpoint)":"[^"]*evil/,
      );
  });

  test('can’t bring somebody else’s name for this machine to the page on which riders are picked', async () => {
    const started = await new TestBrowser(origin).get(authorizeUrl(origin, client, newPkce()));
    const { status, text } = await send(new URL(started.headers.get('location')!, origin).pathname);
    expect(status).toBe(421);
    expect(text).not.toContain('Ada Lovelace');
  });

  test('another name of this machine is led to the one of BASE_URL, where its cookies are', async () => {
    const url = authorizeUrl(origin, client, newPkce());
    const elsewhere = await fetch(url.replace('127.0.0.1', 'localhost'), { redirect: 'manual' });
    expect([elsewhere.status, elsewhere.headers.get('location')]).toEqual([307, url]);
  });
});
