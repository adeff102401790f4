import { describe, expect, test } from 'vitest';
import { memorySignInState } from '../../../../infra/memory/memory-sign-in-state.ts';
import { requestText } from '../../../support/processes/http-service.ts';
import { exchange } from '../../../support/servers/raw-http.ts';
import { type Client, callback } from '../../../support/sign-in/sign-in-flow.ts';
import { startSignInService } from '../../../support/sign-in/sign-in-service.ts';
import { newPkce, TestBrowser } from '../../../support/sign-in/test-browser.ts';

const pending: string[] = [];
const state = memorySignInState();
const service = await startSignInService({
  // A trusted proxy's headers say who asks. They too change no URL.
  trustProxy: ['127.0.0.1'],
  store: {
    ...state,
    async put(kind, id, payload, options) {
      if (kind === 'Interaction') pending.push(JSON.stringify(payload));
      await state.put(kind, id, payload, options);
    },
  },
  clients: [
    { client_id: 'two-addresses', redirect_uris: ['https://app.example/cb', 'https://app.example/cb?x=1'] },
    { client_id: 'named', redirect_uris: [callback], scope: 'read' },
  ].map((each) => ({ ...each, token_endpoint_auth_method: 'none' })),
});
const { origin, register, authorizeUrl } = service;
const client = await register();

const ask = async (more: Record<string, string>, by: Client = client) => {
  const response = await fetch(authorizeUrl(by, newPkce(), more), { redirect: 'manual' });
  return { status: response.status, location: response.headers.get('location'), page: await response.text() };
};

describe('an authorization request', () => {
  // docs/rules.md#redirect-uris
  test('from a native client may name any port of its loopback address, and no other client may', async () => {
    expect((await ask({ redirect_uri: 'http://127.0.0.1:54321/callback' })).status).toBe(303);
    const web = { client_id: 'two-addresses' };
    expect((await ask({ redirect_uri: 'https://app.example:444/cb' }, web)).status).toBe(400);
    expect((await ask({ redirect_uri: 'https://app.example/cb?x=1' }, web)).status).toBe(303);
    // With two addresses registered, one has to be named.
    expect((await ask({ redirect_uri: '' }, web)).status).toBe(400);
  });

  test.each([
    ['invalid_redirect_uri', { redirect_uri: `${callback}/` }, client],
    ['invalid_redirect_uri', { redirect_uri: 'http://127.0.0.1.evil.example/callback' }, client],
    ['invalid_client', {}, { client_id: 'x'.repeat(3000) }],
    ['invalid_client', {}, { client_id: 'https://evil.example/client.json' }],
  ])('of nobody, or to another redirect URI, goes nowhere: %s of %j', async (error, more, by) => {
    const { status, location, page } = await ask(more, by);
    expect([status, location, page]).toEqual([400, null, expect.stringContaining(error)]);
    expect(page).not.toMatch(/evil\.example\/callback|127\.0\.0\.1:9/);
  });

  const faulty: [string, Record<string, string>, string][] = [
    ['without PKCE', { code_challenge: '', code_challenge_method: '' }, 'invalid_request'],
    ['with PKCE by plain text', { code_challenge_method: 'plain' }, 'invalid_request'],
    ['for an answer in the fragment', { response_mode: 'fragment' }, 'unsupported_response_mode'],
    ['for more than read', { scope: 'read write' }, 'invalid_scope'],
    ['for a scope in letters that no scope has', { scope: 'lecture é' }, 'invalid_scope'],
    ['for a token in the fragment', { response_type: 'token' }, 'unsupported_response_type'],
    ['for another resource', { resource: 'https://elsewhere.example/api' }, 'invalid_target'],
    ['with a request by reference', { request_uri: 'http://127.0.0.1:1/x' }, 'request_uri_not_supported'],
    ['with a request by value', { request: 'x' }, 'request_not_supported'],
    ['with a registration of its own', { registration: 'x' }, 'registration_not_supported'],
    ['without pages, of nobody signed in', { prompt: 'none' }, 'login_required'],
  ];
  // docs/rules.md#redirect-uris, #issuer
  test.each(faulty)(
    '%s is answered in the query, with the issuer; for a client that introduced itself, only once the rider clicks',
    async (_, more, error) => {
      const { status, location } = await ask(more, { client_id: 'named' });
      const shown = await ask(more);
      expect([status, shown.status, shown.location]).toEqual([303, 400, null]);
      expect(shown.page).toContain(`<code>${error}</code>`);
      if (error === 'invalid_scope') expect(shown.page).toContain('The only scope that an app can have here is “read”');
      const link = /href="([^"]+)">Go on to an app on this device</.exec(shown.page)![1]!;
      for (const answer of [location!, link.replaceAll('&#38;', '&')]) {
        const url = new URL(answer);
        expect([url.origin + url.pathname, url.hash]).toEqual([callback, '']);
        expect(Object.fromEntries(url.searchParams)).toMatchObject({ error, state: 'the-state', iss: origin });
        expect(url.searchParams.has('code')).toBe(false);
        if (error === 'invalid_scope')
          expect(url.searchParams.get('error_description')).toContain('only scope here is read');
      }
    },
  );

  test('is kept without what has no meaning here, and refused with a state over 1,000 characters', async () => {
    const stated = async (length: number) =>
      (await ask({ state: 'n'.repeat(length) }, { client_id: 'named' })).location!;
    expect(await stated(1000)).toContain('/oauth/sign-in/');
    expect(new URL(await stated(1001)).searchParams.get('error')).toBe('invalid_request');
    const long = 'n'.repeat(2000);
    pending.length = 0;
    expect((await ask({ nonce: long, claims: long, made_up: long })).location).toContain('/oauth/sign-in/');
    expect(pending).toEqual([expect.not.stringContaining(long)]);
  });
});

// docs/rules.md#base-url
describe('headers that name another host', () => {
  const hosts = { Host: 'evil.example', 'X-Forwarded-Host': 'evil.example', Forwarded: 'host=evil.example' };
  const forged = { ...hosts, 'X-Forwarded-Proto': 'https', 'X-Forwarded-For': '8.8.8.8' };
  /** With its headers and body as one text. */
  const send = async (target: string, fields: Record<string, string> = forged) => {
    const { status, headers, body } = await exchange(Number(new URL(origin).port), requestText('GET', target, fields));
    return { status, headers, text: JSON.stringify(headers) + body };
  };

  test.each(['/.well-known/oauth-authorization-server', '/oauth/jwks', '/oauth/authorize?client_id=nobody'])(
    'change nothing at %s, nor does a whole URL as the request’s target',
    async (path) => {
      expect((await send(path)).text).not.toContain('evil.example');
      expect((await send(`http://evil.example${path}`)).text).not.toMatch(/"(location|issuer|[a-z_]+)":"[^"]*evil/);
    },
  );

  test('are led to BASE_URL’s where they are another name of this machine', async () => {
    const path = authorizeUrl(client).slice(origin.length);
    const { status, headers } = await send(path, { Host: `localhost:${new URL(origin).port}` });
    expect([status, headers.location]).toEqual([307, origin + path]);
  });

  test('change nothing in an authorization, and can’t bring another name to the page where riders are picked', async () => {
    const started = await send(authorizeUrl(client).slice(origin.length));
    expect(started.status).toBe(303);
    expect(started.text).not.toContain('evil.example');
    expect(started.text).not.toMatch(/; secure/i);
    const { url } = await new TestBrowser(origin).open(authorizeUrl(client));
    const { status, text } = await send(new URL(url).pathname);
    expect(status).toBe(421);
    expect(text).not.toContain('Ada Lovelace');
  });
});
