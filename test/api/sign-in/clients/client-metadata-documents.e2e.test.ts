import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { memorySignInState } from '../../../../infra/memory/memory-sign-in-state.ts';
import { httpsMetadataFetch } from '../../../../infra/net/https-metadata-fetch.ts';
import { makeCertificate } from '../../../support/servers/certificate.ts';
import {
  approve,
  authorizeUrl,
  callback,
  codeFor,
  nights,
  redeem,
  refresh,
} from '../../../support/sign-in/sign-in-flow.ts';
import { startSignInService, type TestService } from '../../../support/sign-in/sign-in-service.ts';
import { csrfOf, newPkce, TestBrowser } from '../../../support/sign-in/test-browser.ts';

const portOf = ({ app }: TestService): number => (app.server.address() as AddressInfo).port;

describe('a client that is its own metadata document', () => {
  let server: Server;
  let service: TestService;
  let id: (path: string) => string;
  let fetched = 0;
  let fetchDocuments: typeof fetch;
  const documents: Record<string, (id: string) => unknown> = {
    '/client.json': (client_id) => ({
      client_id,
      client_name: 'Document app',
      redirect_uris: [callback],
      token_endpoint_auth_method: 'none',
      jwks_uri: 'http://169.254.169.254/latest',
      default_max_age: 5,
    }),
    // As clients of many servers have them.
    '/worldly.json': (client_id) => ({
      client_id,
      redirect_uris: [callback],
      grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:jwt-bearer'],
      response_types: ['code', 'code id_token'],
      scope: 'openid email offline_access',
    }),
    '/large.json': (client_id) => ({
      client_id,
      redirect_uris: [callback, ...Array.from({ length: 9 }, (_, i) => `${callback}/${i}/${'x'.repeat(1000)}`)],
    }),
    '/bare.json': (client_id) => ({ client_id, redirect_uris: [callback] }),
    '/other-id.json': (client_id) => ({ client_id: `${client_id}x`, redirect_uris: [callback] }),
    '/secret.json': (client_id) => ({ client_id, redirect_uris: [callback], client_secret: 'x'.repeat(40) }),
    '/http.json': (client_id) => ({ client_id, redirect_uris: ['http://app.example/cb'] }),
    '/name.json': (client_id) => ({ client_id, redirect_uris: [callback], client_name: 'a\u202eb' }),
    '/passing.json': (client_id) => ({ client_id, redirect_uris: [callback], client_name: 'Passing app' }),
    '/huge.json': (client_id) => ({ client_id, redirect_uris: [callback], client_name: 'x'.repeat(30_000) }),
  };
  beforeAll(async () => {
    const certificate = makeCertificate(['client.example']);
    server = createServer(certificate, (request, response) => {
      fetched++;
      const document = documents[request.url!];
      if (request.url === '/redirect.json') response.writeHead(302, { location: id('/client.json') }).end();
      else if (!document) response.writeHead(404).end();
      else response.setHeader('content-type', 'application/json').end(JSON.stringify(document(id(request.url!))));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    id = (path) => `https://client.example:${port}${path}`;
    fetchDocuments = httpsMetadataFetch({
      ca: certificate.cert,
      resolve: async (host) => (host === 'client.example' ? [{ address: '127.0.0.1', family: 4 }] : []),
      isAllowed: (address) => address === '127.0.0.1',
    });
    service = await startSignInService({ registration: false, metadataFetch: fetchDocuments });
  });
  afterAll(async () => {
    await service.close();
    server.closeAllConnections();
    server.close();
  });

  test.each(['/client.json', '/bare.json', '/worldly.json', '/large.json'])(
    'signs riders in without being registered: %s',
    async (path) => {
      const client = { client_id: id(path) };
      const { code, pkce } = await codeFor(service.origin, client);
      const { status, body } = await redeem(service.origin, client, code, pkce.verifier);
      expect(status).toBe(200);
      expect((await nights(service.baseUrl, body.access_token)).rider).toBe('rider-ada');
      expect((await refresh(service.origin, client, body.refresh_token)).status).toBe(200);
    },
  );

  test('is fetched once while it holds, and its offer stands in the metadata', async () => {
    await codeFor(service.origin, { client_id: id('/client.json') });
    const before = fetched;
    await approve(
      new TestBrowser(service.origin),
      authorizeUrl(service.origin, { client_id: id('/client.json') }, newPkce()),
    );
    expect(fetched).toBe(before);
    expect(await (await fetch(`${service.origin}/.well-known/oauth-authorization-server`)).json()).toMatchObject({
      client_id_metadata_document_supported: true,
    });
  });

  test('is looked up again where its document no longer holds, or another instance has none of it', async () => {
    const shared = { keys: service.keys, riders: service.riders, store: memorySignInState() };
    const fetching = { registration: false, metadataFetch: fetchDocuments };
    const one = await startSignInService({ ...shared, ...fetching });
    const two = await startSignInService({ ...shared, ...fetching, baseUrl: one.baseUrl });
    const atTwo = (url: string) => url.replace(one.origin, `http://127.0.0.1:${portOf(two)}`);
    const browser = new TestBrowser(one.origin);
    const ask = async (url: string) => {
      const response = await fetch(atTwo(url), { headers: { cookie: browser.cookieHeader(url) } });
      return { status: response.status, page: await response.text() };
    };
    const first = await browser.open(authorizeUrl(one.origin, { client_id: id('/passing.json') }, newPkce()));
    expect(await ask(first.url)).toMatchObject({ status: 200, page: expect.stringContaining('Passing app') });
    const picked = await browser.post(first.url, { csrf: csrfOf(first.page), do: 'pick', rider: 'rider-ada' });
    const { url } = await browser.follow(picked);
    const third = await startSignInService({ ...shared, ...fetching, baseUrl: one.baseUrl });
    expect(await ask(url)).toMatchObject({
      status: 200,
      page: expect.stringContaining('as “Passing app” of <strong>client.example:'),
    });
    const allowed = await browser.post(url, { csrf: csrfOf((await browser.open(url)).page), do: 'allow' });
    expect((await browser.follow(allowed)).url).toContain('code=');
    const name = async (instance: TestService) => {
      const cookie = browser.cookieHeader(`${one.origin}/oauth/connected-apps`);
      const response = await fetch(`http://127.0.0.1:${portOf(instance)}/oauth/connected-apps`, {
        headers: { cookie },
      });
      return /<h2>(.*)<\/h2>/.exec(await response.text())?.[1];
    };
    expect(await name(two)).toBe('Passing app');
    const again = await browser.open(authorizeUrl(one.origin, { client_id: id('/passing.json') }, newPkce()));
    expect(again.page).toContain('Let Passing app read');
    delete documents['/passing.json'];
    const fourth = await startSignInService({ ...shared, ...fetching, baseUrl: one.baseUrl });
    // Its document is gone: it can still be disconnected, and asks for nothing any more.
    expect(await name(fourth)).toBe(id('/passing.json'));
    const cookie = browser.cookieHeader(again.url);
    const gone = await fetch(again.url.replace(one.origin, `http://127.0.0.1:${portOf(fourth)}`), {
      headers: { cookie },
    });
    expect([gone.status, await gone.text()]).toEqual([400, expect.stringContaining('This app is not known here')]);
    for (const instance of [one, two, third, fourth]) await instance.app.close();
  });

  test.each([
    '/missing.json',
    '/other-id.json',
    '/secret.json',
    '/http.json',
    '/name.json',
    '/huge.json',
    '/redirect.json',
  ])('is refused for a document that is wrong: %s', async (path) => {
    const response = await fetch(authorizeUrl(service.origin, { client_id: id(path) }, newPkce()), {
      redirect: 'manual',
    });
    expect([response.status, response.headers.get('location')]).toEqual([400, null]);
    expect(await response.text()).toMatch(/invalid_client|invalid_redirect_uri/);
  });
});

test('a metadata document inside the network is not fetched', async () => {
  let asked = 0;
  const certificate = makeCertificate(['localhost', '127.0.0.1']);
  const inside = createServer(certificate, (_request, response) => {
    asked++;
    response.end('{}');
  });
  await new Promise<void>((resolve) => inside.listen(0, '127.0.0.1', resolve));
  const { port } = inside.address() as AddressInfo;
  const service = await startSignInService({ metadataFetch: httpsMetadataFetch({ ca: certificate.cert }) });
  for (const host of ['127.0.0.1', 'localhost', '[::1]', '2130706433', '[::ffff:7f00:1]']) {
    const url = authorizeUrl(service.origin, { client_id: `https://${host}:${port}/client.json` }, newPkce());
    const response = await fetch(url, { redirect: 'manual' });
    const page = await response.text();
    expect([host, response.status]).toEqual([host, 400]);
    expect(page).toContain('invalid_client');
  }
  expect(asked).toBe(0);
  await service.close();
  inside.close();
});
