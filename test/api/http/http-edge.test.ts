import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { registerDocs } from '../../../api/openapi/docs.ts';
import { registerSignIn } from '../../../api/sign-in/routes/register-sign-in.ts';
import { registerOperatorRoutes } from '../../../services/serve/http/operator-routes.ts';
import { processMetrics } from '../../../services/serve/metrics/process-metrics.ts';
import { silentLog } from '../../support/processes/heard.ts';
import { type HttpService, json, requestText, startHttpService } from '../../support/processes/http-service.ts';
import type { RawAnswer } from '../../support/servers/raw-http.ts';
import { signInDeps } from '../../support/sign-in/sign-in-service.ts';
import { smallWorld } from '../../support/worlds/small-world.ts';

/** What node:http would answer by itself, and paths beside the interface, over sockets. */

let service: HttpService;
beforeAll(async () => {
  service = await startHttpService({
    register: async (app) => {
      registerDocs(app, { openapiUrl: 'https://rides.example/api/openapi.json', oauthClientId: 'docs' });
      registerOperatorRoutes(app, processMetrics(silentLog), async () => ({ ready: true }));
      await registerSignIn(app, await signInDeps('https://rides.example/api'));
    },
  });
});
afterAll(() => service.close());

const at = (method: string, target: string, headers: Record<string, string> = {}, body = ''): Promise<RawAnswer> =>
  service.exchange(requestText(method, target, headers, body));

const connections = (): Promise<number> => promisify(service.app.server.getConnections.bind(service.app.server))();

/** What every failure has in common. */
function expectFailure(answer: RawAnswer, status: number): void {
  expect(answer.status).toBe(status);
  expect(answer.headers).toMatchObject({
    date: expect.stringMatching(/ GMT$/),
    'content-type': 'application/problem+json',
    'cache-control': 'no-store',
    'access-control-allow-origin': '*',
    'access-control-expose-headers': 'ETag, WWW-Authenticate, Retry-After',
  });
  expect(json(answer)).toEqual({ title: answer.reason, status, detail: expect.any(String) });
}

const registered = [
  ['/', 'GET, HEAD'],
  ['/docs', 'GET, HEAD'],
  ['/docs/', 'GET, HEAD'],
  ['/%64ocs?x=1', 'GET, HEAD'],
  ['/healthz', 'GET, HEAD'],
  ['/readyz', 'GET, HEAD'],
  ['/metrics', 'GET, HEAD'],
  ['/.well-known/oauth-protected-resource/api', 'GET, HEAD, OPTIONS'],
  ['/.well-known/oauth-authorization-server', 'GET, HEAD, OPTIONS'],
  ['/oauth/jwks', 'GET, HEAD, OPTIONS'],
  ['/oauth/token', 'POST, OPTIONS'],
  ['/oauth/revoke', 'POST, OPTIONS'],
  ['/oauth/register', 'POST, OPTIONS'],
  ['/oauth/authorize?client_id=x', 'GET, HEAD'],
  ['/oauth/authorize/some-sign-in', 'GET, HEAD'],
  ['/oauth/sign-in/some-sign-in', 'GET, HEAD, POST'],
  ['/oauth/sign-out', 'GET, HEAD, POST'],
  ['/oauth/connected-apps', 'GET, HEAD, POST'],
] as const;

// docs/rules.md#other-paths
describe.each(registered)('%s', (target, allow) => {
  it(`answers other methods 405 with Allow: ${allow}`, async () => {
    for (const method of ['PUT', 'DELETE', 'PROPFIND', 'QUERY']) {
      const answer = await at(method, target, { 'Content-Type': 'application/json' }, '{');
      expectFailure(answer, 405);
      expect(answer.headers.allow).toBe(allow);
    }
    if (allow.includes('HEAD')) return;
    const answer = await at('HEAD', target);
    expect([answer.status, answer.headers.allow, answer.body.length]).toEqual([405, allow, 0]);
  });

  // docs/rules.md#cors, #options
  it('takes what Allow names, and is open to pages of other origins unless it is a page of sign-in', async () => {
    const isOpen = !/^\/oauth\/(authorize|sign-|connected)|^\/(docs|%64ocs)(?!\/$)/.test(target);
    const origin = { Origin: 'https://elsewhere.example' };
    for (const method of allow.split(', ')) {
      const { status, headers } = await at(method, target, origin);
      expect([404, 405]).not.toContain(status);
      expect([method, headers['access-control-allow-origin']]).toEqual([method, isOpen ? '*' : undefined]);
    }
    if (!allow.includes('OPTIONS')) return;
    const asked = { 'Access-Control-Request-Method': 'POST', 'Access-Control-Request-Headers': 'content-type' };
    const { status, headers } = await at('OPTIONS', target, { ...origin, ...asked });
    expect([status, headers['access-control-allow-methods']]).toEqual([204, allow]);
    expect(headers['access-control-allow-headers']).toContain(', content-type');
    expect(headers).not.toHaveProperty('access-control-allow-credentials');
  });
});

it.each([
  ...['/nowhere', '/docs/x', '/oauth', '/oauth/authorize/a/b', '/api', '/api/rides', '/healthz/', '/rides/loop'],
  ...['/apix/rides/loop', '/~calendar', '//docs', '/DOCS'],
  // Other endpoints of oidc-provider, and a registered client's.
  ...['/oauth/me', '/oauth/request', '/oauth/introspection', '/oauth/device/auth', '/oauth/register/some-client'],
  '/.well-known/openid-configuration',
  // Too long for any sign-in.
  `/oauth/sign-in/${'x'.repeat(101)}`,
])('%s is a path that is not there: 404 to every method', async (target) => {
  for (const method of ['GET', 'POST', 'PROPFIND', 'OPTIONS']) {
    const answer = await at(method, target);
    expect([method, answer.status, answer.headers.allow]).toEqual([method, 404, undefined]);
    expect(json(answer)).toEqual({ error: 'not_found', input: null, detail: 'no such path' });
    expect(answer.headers.date).toBeDefined();
  }
});

// Chrome's and curl's. An app that likes JSON as much gets JSON.
const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8';
it.each([
  ['/nowhere', browser, true],
  ['/oauth/nope?code=secret', browser, true],
  ['/apix/rides/loop', browser, true],
  ['/%zz', browser, true],
  [`/oauth/sign-in/${'x'.repeat(101)}`, browser, true],
  ['/nowhere', '*/*', false],
  ['/nowhere', 'application/json, text/html;q=0.9', false],
  ['/nowhere', 'text/html;q=0, */*', false],
  ['/api', browser, false],
  ['/api/', browser, false],
  ['/api/nope', browser, false],
  ['/%61pi/nope', browser, false],
])('%s is 404 to Accept: %s, as a page: %s', async (target, accept, isPage) => {
  const answer = await at('GET', target, { Accept: accept });
  expect(answer.status).toBe(404);
  expect(answer.headers).toMatchObject({ 'cache-control': 'no-store', 'access-control-allow-origin': '*' });
  if (!isPage) return expect(json(answer)).toMatchObject({ error: 'not_found' });
  expect(answer.headers['content-type']).toBe('text/html; charset=utf-8');
  expect(answer.headers['content-security-policy']).toContain("default-src 'none'");
  expect(String(answer.body)).toContain('<h1>There is no such page</h1>');
  expect(String(answer.body)).toContain('href="https://rides.example/docs"');
  expect(String(answer.body)).not.toContain('secret');
});

// docs/rules.md#options
it('OPTIONS * is about the server: 204, also as a preflight, and the connection goes on', async () => {
  const plain = requestText('OPTIONS', '*');
  const { answers, closed } = await service.converse(plain, {
    later: [requestText('OPTIONS', '*', { 'Access-Control-Request-Method': 'GET' }), requestText('GET', '/healthz')],
  });
  expect([answers.map(({ status }) => status), closed]).toEqual([[204, 204, 200], false]);
  const allowed = { allow: 'GET, HEAD, OPTIONS', 'access-control-allow-origin': '*' };
  expect(answers[0]!.headers).toMatchObject(allowed);
  expect(answers[1]!.headers).toMatchObject({ ...allowed, 'access-control-allow-methods': allowed.allow });
});

it.each(['/', 'http://rides.example', 'http://rides.example?x=1'])('%s leads to /docs', async (target) => {
  const answer = await at('GET', target);
  expect([answer.status, answer.headers.location]).toEqual([302, 'docs']);
});

// docs/rules.md#malformed-requests
describe('Host', () => {
  const get = (fields: string, version = '1.1', method = 'GET') =>
    service.converse(`${method} /healthz HTTP/${version}\r\n${fields}\r\n`);

  it.each([
    ['twice', 'Host: x\r\nHost: y\r\n'],
    ['not at all', 'A: b\r\n'],
    ['with no value', 'Host:\r\n'],
    ['with a port alone', 'Host: :80\r\n'],
    ['with a path', 'Host: x/y\r\n'],
    ['with a port that is no number', 'Host: x:http\r\n'],
    ['with raw bytes', 'Host: caf\xe9\r\n'],
  ])('%s is malformed', async (_, fields) => {
    for (const method of ['GET', 'POST']) {
      const { answers, closed } = await get(fields, '1.1', method);
      expect(answers).toHaveLength(1);
      expectFailure(answers[0]!, 400);
      expect([closed, answers[0]!.headers.connection]).toEqual([true, 'close']);
    }
  });

  it.each(['x', 'rides.example:443', '127.0.0.1:80', '[::1]:8080', '[::ffff:1.2.3.4]', 'x:'])(
    '%j is as it should be',
    async (value) => {
      expect((await get(`Host: ${value}\r\n`)).answers[0]!.status).toBe(200);
    },
  );

  it('need not be named by HTTP/1.0, and not twice either', async () => {
    expect((await get('', '1.0')).answers[0]!.status).toBe(200);
    expect((await get('Host: x\r\nHost: y\r\n', '1.0')).answers[0]!.status).toBe(400);
  });
});

describe('a request line', () => {
  it.each([
    'GET /healthz HTTP/2.0',
    'GET /healthz HTTP/0.9',
    'GET * HTTP/1.1',
    'POST * HTTP/1.1',
    'OPTIONS ** HTTP/1.1',
    'GET /d\xf6cs HTTP/1.1',
    'FOO /docs HTTP/1.1',
    'nonsense',
    'GET /docs',
    'GET docs HTTP/1.1',
    'GET /docs\t HTTP/1.1',
  ])('%j is malformed', async (line) => {
    const { answers, closed } = await service.converse(`${line}\r\nHost: x\r\n\r\n`);
    expect([answers.length, closed]).toEqual([1, true]);
    expectFailure(answers[0]!, 400);
  });
});

describe('a body that is no body', () => {
  const bodies = [
    ['Transfer-Encoding: gzip\r\n', ''],
    ['Transfer-Encoding: chunked\r\n', 'zz\r\nhello\r\n0\r\n\r\n'],
    ['Transfer-Encoding: chunked\r\n', `5;${'x'.repeat(20_000)}\r\nhello\r\n0\r\n\r\n`],
  ] as const;

  it.each(bodies)('%j %j gets a read one answer at most, and the connection ends', async (fields, body) => {
    for (const target of ['/healthz', `/api${smallWorld.day}`]) {
      const get = `GET ${target} HTTP/1.1\r\nHost: x\r\n${fields}X-Api-Key: ${smallWorld.liveKey}\r\n\r\n${body}`;
      const { answers, closed } = await service.converse(get + requestText('GET', '/healthz'), {
        answers: 3,
        methods: ['GET', 'GET', 'GET'],
      });
      expect([answers.length, closed]).toEqual([1, true]);
      expect([200, 400]).toContain(answers[0]!.status);
    }
  });

  it.each(bodies)('%j %j is refused where it was to be read', async (fields, body) => {
    const type = 'Content-Type: application/x-www-form-urlencoded\r\n';
    const post = `POST /oauth/token HTTP/1.1\r\nHost: x\r\n${type}${fields}\r\n${body}`;
    const { answers, closed } = await service.converse(post);
    expect([answers.length, closed]).toEqual([1, true]);
    expectFailure(answers[0]!, 400);
  });
});

// docs/rules.md#malformed-requests
describe('what the parser refuses', () => {
  it.each([
    ['400', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
    ['400', 'GET / HTTP/1.1\r\nHost x\r\n\r\n'],
    ['400', 'GET / HTTP/1.1\r\nHost: x\r\nX-Api-Key: a\0b\r\n\r\n'],
    ['400', 'GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n'],
    ['400', 'GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n'],
    ['405', 'CONNECT rides.example:443 HTTP/1.1\r\nHost: rides.example:443\r\n\r\n'],
    ['431', requestText('GET', '/', { 'X-Long': 'x'.repeat(200_000) })],
    ['431', requestText('GET', `/?${'x'.repeat(70_000)}`)],
  ])('has a Date and the headers of every failure: %s', async (status, bytes) => {
    const { answers, closed, rest } = await service.converse(bytes);
    expectFailure(answers[0]!, Number(status));
    expect([answers.length, answers[0]!.headers.connection, closed, rest.length]).toEqual([1, 'close', true, 0]);
  });

  it.each([
    ['has a body', 'HEAD / HTTP/1.1\r\nHost x\r\n\r\n', true],
    ['has none after it was parsed', 'HEAD / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n', false],
  ])('for HEAD %s', async (_, bytes, hasBody) => {
    const { answers, closed, rest } = await service.converse(bytes, { methods: ['HEAD'] });
    expect([answers[0]!.status, closed, rest.length > 0]).toEqual([400, true, hasBody]);
  });

  it('closes the connection also of a client that keeps its side open', async () => {
    const socket = connect({ port: service.port, host: '127.0.0.1', allowHalfOpen: true });
    socket.write('nonsense\r\n\r\n');
    socket.resume();
    await once(socket, 'end');
    while ((await connections()) > 0) await sleep(50);
    socket.destroy();
  });

  it('ends nothing else when its client goes away at once', async () => {
    for (const bytes of ['nonsense\r\n\r\n', 'CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n']) {
      const socket = connect(service.port, '127.0.0.1', () => socket.write(bytes, () => socket.resetAndDestroy()));
      await once(socket, 'close');
    }
    expect((await at('GET', '/healthz')).status).toBe(200);
  });
});
