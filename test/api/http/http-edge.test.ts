import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { registerDocs } from '../../../api/openapi/docs.ts';
import { registerSignIn } from '../../../api/sign-in/routes/register-sign-in.ts';
import { registerOperatorRoutes } from '../../../services/serve/http/operator-routes.ts';
import { processMetrics } from '../../../services/serve/metrics/process-metrics.ts';
import { silentLog } from '../../support/processes/heard.ts';
import { json, requestText, startHttpService } from '../../support/processes/http-service.ts';
import type { RawAnswer } from '../../support/servers/raw-http.ts';
import { signInDeps } from '../../support/sign-in/sign-in-service.ts';
import { expectFailure } from './expect-failure.ts';

/** What node:http would answer by itself, and paths beside the interface, over sockets. */

const bug = new Error('a bug');
const service = await startHttpService({
  register: async (app) => {
    registerDocs(app, { baseUrl: 'https://rides.example/api' });
    registerOperatorRoutes(app, processMetrics(silentLog), async () => ({ ready: true }));
    app.get('/broken', () => Promise.reject(bug));
    await registerSignIn(app, await signInDeps('https://rides.example/api'));
  },
});

const at = (method: string, target: string, headers: Record<string, string> = {}, body = ''): Promise<RawAnswer> =>
  service.exchange(requestText(method, target, headers, body));

const pages = ['/oauth/sign-in/some-sign-in', '/oauth/sign-in/', '/oauth/sign-out', '/oauth/connected-apps'];
const registered = Object.entries({
  'GET, HEAD': ['/', '/docs', '/healthz', '/oauth/authorize?client_id=x', '/oauth/authorize/some'],
  'GET, HEAD, OPTIONS': ['/.well-known/oauth-protected-resource/api', '/.well-known/oauth-authorization-server'],
  'POST, OPTIONS': ['/oauth/token', '/oauth/revoke', '/oauth/register'],
  'GET, HEAD, POST': pages,
}).flatMap(([allow, targets]) => targets.map((target) => [target, allow] as const));

// docs/rules.md#other-paths
describe.each(registered)('%s', (target, allow) => {
  it(`answers other methods 405 with Allow: ${allow}`, async () => {
    for (const method of ['PUT', 'PROPFIND']) {
      const answer = await at(method, target, { 'Content-Type': 'application/json' }, '{');
      expectFailure(answer, 405, expect.stringMatching(/^This takes [A-Z, ]+ or [A-Z]+\.$/));
      expect(answer.headers.allow).toBe(allow);
    }
    if (allow.includes('HEAD')) return;
    const answer = await at('HEAD', target);
    expect([answer.status, answer.headers.allow, answer.body.length]).toEqual([405, allow, 0]);
  });

  // docs/rules.md#cors, #options
  it('takes what Allow names, and is open to pages of other origins unless it is a page of sign-in', async () => {
    const isOpen = !/^\/oauth\/(authorize|sign-|connected)|^\/docs/.test(target);
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
  });
});

// docs/rules.md#order-of-checks
it.each([
  ...['/api/', '/api/rides/loop/', '/api/rides//', '/api/me/', '/api/%zz'],
  ...['/docs/x', '/oauth/authorize/a/b', '/api', '/healthz/', '/apix/rides/loop', '/DOCS'],
  // Other endpoints of oidc-provider, and one that is too long for any sign-in.
  ...['/oauth/introspection', '/.well-known/openid-configuration', `/oauth/sign-in/${'x'.repeat(101)}`],
])('%s is a path that is not there: 404 to every method, whatever the credentials and the body', async (target) => {
  for (const method of ['GET', 'POST', 'PROPFIND', 'OPTIONS', 'QUERY']) {
    const fields = { Authorization: 'Bearer dead', 'Content-Type': 'application/json' };
    const answer = await at(method, target, fields, method === 'GET' ? '' : '{');
    expect([method, answer.status, answer.headers.allow]).toEqual([method, 404, undefined]);
    expect(json(answer)).toEqual({ error: 'not_found', input: null, detail: 'no such path' });
  }
});

// Chrome's and curl's. An app that likes JSON as much gets JSON.
const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8';
it.each([
  ['/oauth/nope?code=secret', browser, true],
  ['/nowhere', '*/*', false],
  ['/nowhere', 'application/json, text/html;q=0.9', false],
  ['/%61pi/nope', browser, false],
  ['/apix', browser, true],
])('%s is 404 to Accept: %s, as a page: %s', async (target, accept, isPage) => {
  const answer = await at('GET', target, { Accept: accept });
  expect(answer.status).toBe(404);
  const type = isPage ? 'text/html; charset=utf-8' : 'application/json';
  expect(answer.headers['content-type']).toBe(type);
  if (!isPage) return;
  expect(answer.headers['content-security-policy']).toContain("default-src 'none'");
  const common = { 'access-control-allow-origin': '*', 'strict-transport-security': 'max-age=31536000' };
  expect(answer.headers).toMatchObject(common);
  expect(String(answer.body)).toMatch(/There is no such page.*href="https:\/\/rides.example\/docs"/s);
  expect(String(answer.body)).not.toContain('secret');
});

// docs/rules.md#problems
it('a fault of ours beside the interface is 500 as problem details, and is told', async () => {
  expectFailure(await at('GET', '/broken'), 500, 'Something went wrong here; the request may be sent again.');
  expect(service.faults.splice(0)).toEqual([bug]);
});

it('a form without a body is refused as any other wrong one', async () => {
  const type = { 'Content-Type': 'application/x-www-form-urlencoded' };
  expect((await at('POST', '/oauth/token', type)).status).toBe(400);
});

// docs/rules.md#options
it('OPTIONS * is about the server: 204, also as a preflight, and the connection goes on', async () => {
  const preflight = requestText('OPTIONS', '*', { 'Access-Control-Request-Method': 'GET' });
  const { answers, closed } = await service.converse(preflight, { later: [requestText('GET', '/healthz')] });
  expect([answers.map(({ status }) => status), closed]).toEqual([[204, 200], false]);
  const allowed = { allow: 'GET, HEAD, OPTIONS', 'access-control-allow-methods': 'GET, HEAD, OPTIONS' };
  expect(answers[0]!.headers).toMatchObject({ ...allowed, 'access-control-allow-origin': '*' });
});

// infra/deploy/proxy.md: a proxy that kept it as long would send requests on connections that are being closed.
it('an idle connection is kept for 72 seconds, as its answers say', async () => {
  const { headers } = await at('GET', '/healthz', { Connection: 'keep-alive' });
  expect(headers['keep-alive']).toBe('timeout=72');
});

it.each([
  ['Transfer-Encoding: gzip\r\n', ''],
  ['Transfer-Encoding: chunked\r\n', 'zz\r\nhello\r\n0\r\n\r\n'],
])('a body that is none, %j %j, is refused where it was to be read, and ends the connection', async (fields, body) => {
  const get = `GET /healthz HTTP/1.1\r\nHost: x\r\n${fields}\r\n${body}`;
  const read = await service.converse(get + requestText('GET', '/healthz'), { answers: 3, methods: ['GET', 'GET'] });
  expect([read.answers.length, read.closed]).toEqual([1, true]);
  const type = 'Content-Type: application/x-www-form-urlencoded\r\n';
  const post = await service.converse(`POST /oauth/token HTTP/1.1\r\nHost: x\r\n${type}${fields}\r\n${body}`);
  expect([post.answers.length, post.closed]).toEqual([1, true]);
  expectFailure(post.answers[0]!, 400);
});

// docs/rules.md#malformed-requests
it('header fields of almost 40 kB are read, and a request has 30 seconds to arrive', async () => {
  expect((await at('GET', '/healthz', { 'X-Long': 'x'.repeat(39_000) })).status).toBe(200);
  expect(service.app.server).toMatchObject({ requestTimeout: 30_000, connectionsCheckingInterval: 5_000 });
});

// docs/rules.md#malformed-requests
describe('a malformed request', () => {
  const head = (...lines: string[]) => `${lines.join('\r\n')}\r\n\r\n`;
  const badHosts = ['Host: x\r\nHost: y', 'A: b', 'Host:', 'Host: :80', 'Host: x/y', 'Host: x:http', 'Host: caf\xe9'];
  const badLines = ['GET /healthz HTTP/2.0', 'GET * HTTP/1.1', 'OPTIONS ** HTTP/1.1', 'GET /d\xf6cs HTTP/1.1'];
  const words: Record<number, string> = {
    400: 'The request is not well-formed HTTP.',
    405: 'This is read with GET or HEAD.',
    431: 'The header fields are too large.',
  };
  badLines.push('FOO /docs HTTP/1.1', 'GET docs HTTP/1.1', 'nonsense', 'GET /docs');
  it.each<[status: number, bytes: string]>([
    ...badHosts.map((fields): [number, string] => [400, head('GET /healthz HTTP/1.1', fields)]),
    [400, head('GET /healthz HTTP/1.0', 'Host: x', 'Host: y')],
    ...badLines.map((line): [number, string] => [400, head(line, 'Host: x')]),
    // These are refused by the parser.
    [400, '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
    [400, head('GET / HTTP/1.1', 'Host: x', 'Content-Length: 1', 'Transfer-Encoding: chunked')],
    [405, head('CONNECT rides.example:443 HTTP/1.1', 'Host: rides.example:443')],
    [431, requestText('GET', '/', { 'X-Long': 'x'.repeat(42_000) })],
    [431, requestText('GET', `/?${'x'.repeat(42_000)}`)],
  ])('is told so, with a Date and the headers of every failure, and ends its connection: %i', async (status, bytes) => {
    const { answers, closed, rest } = await service.converse(bytes);
    expectFailure(answers[0]!, status, words[status]);
    expect([answers.length, answers[0]!.headers.connection, closed, rest.length]).toEqual([1, 'close', true, 0]);
  });

  it.each(['1.1\r\nHost: x:', '1.1\r\nHost: [::ffff:1.2.3.4]:80', '1.0'])('HTTP/%j is none', async (fields) => {
    const { answers } = await service.converse(`GET /healthz HTTP/${fields}\r\n\r\n`);
    expect(answers[0]!.status).toBe(200);
  });

  it.each(['BAD\r\n\r\n', 'PUT /docs HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n'])(
    'behind a request in the same packet, whose answer is sent: %j',
    async (second) => {
      const { answers } = await service.converse(requestText('GET', '/healthz') + second);
      expect(answers[0]!.status).toBe(200);
    },
  );

  it('has its connection closed soon where its client leaves it open', async () => {
    const to = { port: service.port, host: '127.0.0.1', allowHalfOpen: true };
    const socket = connect(to, () => socket.write('BAD\r\n\r\n'));
    await once(socket.resume(), 'end');
    // What is written to a connection that is gone fails.
    socket.on('error', () => {});
    const isClosed = () => socket.destroyed || !socket.write('x');
    await expect.poll(isClosed, { timeout: 30_000 }).toBe(true);
  });

  it('ends nothing else when its client goes away at once', async () => {
    for (const bytes of ['nonsense\r\n\r\n', 'CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n']) {
      const socket = connect(service.port, '127.0.0.1', () => socket.write(bytes, () => socket.resetAndDestroy()));
      await once(socket, 'close');
    }
    expect((await at('GET', '/healthz')).status).toBe(200);
  });
});
