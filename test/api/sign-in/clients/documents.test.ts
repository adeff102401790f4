import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { DocumentAwayError } from '../../../../api/ports/metadata-fetch.ts';
import { memorySignInState } from '../../../../infra/memory/memory-sign-in-state.ts';
import { approve, basic, callback, nights } from '../../../support/sign-in/sign-in-flow.ts';
import { startSignInService } from '../../../support/sign-in/sign-in-service.ts';
import { newPkce, TestBrowser } from '../../../support/sign-in/test-browser.ts';

const host = 'https://client.example';
const common = { redirect_uris: [callback] };

describe('a client that is its own metadata document', async () => {
  const documents: Record<string, object> = {
    '/client.json': { client_name: 'Document app', token_endpoint_auth_method: 'none', default_max_age: 5 },
    '/bare.json': {},
    // As clients of many servers have them.
    '/worldly.json': {
      grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:jwt-bearer'],
      response_types: ['code', 'code id_token'],
      scope: 'openid email offline_access',
      jwks_uri: 'http://169.254.169.254/latest',
      // A document may have 16 kB.
      post_logout_redirect_uris: Array.from({ length: 150 }, (_, i) => `https://app.example/${'x'.repeat(70)}/${i}`),
    },
    '/other-id.json': { client_id: `${host}/x` },
    '/secret.json': { client_secret: 'x'.repeat(40) },
    '/secret-end.json': { client_secret_expires_at: 0 },
    '/http.json': { redirect_uris: ['http://app.example/cb'] },
    '/own-name.json': { client_name: 'ride calendar' },
  };
  const answers: Record<string, () => Response> = {
    '/no-json.json': () => new Response('{', { headers: { 'content-type': 'application/json' } }),
    // These two would be right but for what they come with.
    '/page.json': () => Response.json(right('/page.json'), { headers: { 'content-type': 'text/html' } }),
    '/missing.json': () => Response.json(right('/missing.json'), { status: 404 }),
    '/fault.json': () => new Response(null, { status: 500 }),
  };
  const right = (pathname: string) => ({ client_id: host + pathname, ...common, ...documents[pathname] });
  let away = false;
  let fetched = 0;
  const metadataFetch: typeof fetch = async (input) => {
    fetched++;
    if (away) throw new DocumentAwayError('the document can’t be fetched');
    const { pathname } = new URL(String(input));
    return answers[pathname]?.() ?? Response.json(right(pathname), { headers: { 'cache-control': 'max-age=3600' } });
  };
  const store = { ...memorySignInState(), close: async () => {} };
  let service = await startSignInService({ registration: false, metadataFetch, store });

  // Of the last, the URL has 1,000 characters.
  test.each(['/bare.json', '/worldly.json', '/'.padEnd(1000 - host.length, 'x')])(
    'signs riders in without being registered: %s',
    async (path) => {
      vi.useFakeTimers({ toFake: ['Date'] });
      onTestFinished(() => void vi.useRealTimers());
      const client = { client_id: host + path };
      const { code, pkce } = await service.codeFor(client);
      const before = fetched;
      const { body } = await service.redeem(client, code, pkce.verifier);
      expect((await nights(service.baseUrl, body.access_token)).rider).toBe('rider-ada');
      expect((await service.refresh(client, body.refresh_token)).status).toBe(200);
      // It is fetched once while it holds.
      expect(fetched).toBe(before);
      const fetchedAfter = async (minutes: number) => {
        vi.setSystemTime(Date.now() + minutes * 60_000);
        await fetch(service.authorizeUrl(client), { redirect: 'manual' });
        return fetched;
      };
      expect([await fetchedAfter(59), await fetchedAfter(2)]).toEqual([before, before + 1]);
    },
  );

  test('is offered in the metadata, as registration is not where it is off, and is named with its host when it asks for consent', async () => {
    const metadata = await (await fetch(`${service.origin}/.well-known/oauth-authorization-server`)).json();
    expect(metadata).toMatchObject({ client_id_metadata_document_supported: true });
    expect(metadata).not.toHaveProperty('registration_endpoint');
    expect((await fetch(`${service.origin}/oauth/register`, { method: 'POST' })).status).toBe(404);
    const browser = new TestBrowser(service.origin);
    const client = { client_id: `${host}/client.json` };
    const asked = await browser.open(service.authorizeUrl(client));
    const { page } = await browser.submit(asked.url, { do: 'pick', rider: 'rider-ada' });
    expect(page).toContain('as “Document app” of <strong>client.example</strong>');
  });

  const wrong = ['no-json page missing other-id secret secret-end http own-name'.split(' '), 'x'.repeat(1000)].flat();
  test.each<[name: string, status?: number, words?: RegExp]>([
    ...wrong.map((name): [string] => [name]),
    // Its host has a fault: it is worth to come again.
    ['fault', 503, /temporarily_unavailable/],
  ])('is refused for a document that is wrong: %s', async (name, status = 400, words = /invalid_(client|redirect)/) => {
    const url = service.authorizeUrl({ client_id: `${host}/${name}.json` });
    const response = await fetch(url, { redirect: 'manual' });
    expect([response.status, response.headers.get('location')]).toEqual([status, null]);
    expect(await response.text()).toMatch(words);
  });

  test('whose document can’t be had just now loses no token, and can be disconnected', async () => {
    const [client, browser, pkce] = [{ client_id: `${host}/client.json` }, new TestBrowser(service.origin), newPkce()];
    const end = await approve(browser, service.authorizeUrl(client, pkce));
    const { body } = await service.redeem(client, end.searchParams.get('code')!, pkce.verifier);
    await service.close();
    away = true;
    // It has not seen the document yet.
    service = await startSignInService({ metadataFetch, store, port: Number(new URL(service.origin).port) });
    const token = body.refresh_token;
    const authorization = basic(encodeURIComponent(client.client_id), 'x');
    for (const [path, form, headers] of [
      ['token', { ...client, grant_type: 'refresh_token', refresh_token: token }, {}],
      ['token', { grant_type: 'refresh_token', refresh_token: token }, authorization],
      ['revoke', { ...client, token }, {}],
    ] as [string, Record<string, string>, Record<string, string>][]) {
      const request = { method: 'POST', body: new URLSearchParams(form), headers };
      const answer = await fetch(`${service.origin}/oauth/${path}`, request);
      expect([answer.status, await answer.json()]).toMatchObject([503, { error: 'temporarily_unavailable' }]);
      const { 'retry-after': after, 'access-control-allow-origin': open } = Object.fromEntries(answer.headers);
      expect([after, open, answer.headers.get('www-authenticate')]).toEqual(['5', '*', null]);
    }
    expect((await browser.open(service.authorizeUrl(client))).response.status).toBe(503);
    // The app's id stands in for its name.
    const apps = await browser.open(`${service.origin}/oauth/connected-apps`);
    expect(apps.page).toContain(`Disconnect ${client.client_id}`);
    away = false;
    expect((await service.refresh(client, token)).status).toBe(200);
  });
});
