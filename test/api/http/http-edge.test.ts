import { type AddressInfo, connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { httpApp } from '../../../api/http/app.ts';
import { registerDocs } from '../../../api/openapi/docs.ts';
import { registerSignIn } from '../../../api/sign-in/register-sign-in.ts';
import { registerOperatorRoutes } from '../../../services/wiring/http/operator-routes.ts';
import { processMetrics } from '../../../services/wiring/http/process-metrics.ts';
import { type HttpService, json, requestText, startHttpService } from '../../support/http-service.ts';
import type { RawAnswer } from '../../support/raw-http.ts';
import { signInDeps } from '../../support/sign-in-deps.ts';
import { smallWorld } from '../../support/small-world.ts';

/** What node:http would answer by itself, and paths beside the interface, over sockets. */

let service: HttpService;
beforeAll(async () => {
  service = await startHttpService({
    register: async (app) => {
      registerDocs(app, { openapiUrl: 'https://rides.example/api/openapi.json', oauthClientId: 'docs' });
      registerOperatorRoutes(app, processMetrics(), async () => ({ ready: true }));
      await registerSignIn(app, await signInDeps('https://rides.example/api'));
    },
  });
});
afterAll(() => service.close());

const at = (method: string, target: string, headers: Record<string, string> = {}, body = ''): Promise<RawAnswer> =>
  service.exchange(requestText(method, target, headers, body));

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
  ['/oauth/authorize?client_id=x', 'GET'],
  ['/oauth/authorize/some-sign-in', 'GET'],
  ['/oauth/sign-in/some-sign-in', 'GET, POST'],
  ['/oauth/sign-out', 'GET'],
  ['/oauth/sign-out/success', 'GET'],
  ['/oauth/connected-apps', 'GET, POST'],
] as const;

// docs/rules.md#other-paths
describe.each(registered)('%s', (target, allow) => {
  it.each(['PUT', 'DELETE', 'PROPFIND', 'QUERY', 'FOO', 'get', 'M-S!', 'DESCRIBE', 'PLAY'])(
    `answers %s 405 with Allow: ${allow}`,
    async (method) => {
      const answer = await at(method, target, { 'Content-Type': 'application/json' }, '{');
      expectFailure(answer, 405);
      expect(answer.headers.allow).toBe(allow);
    },
  );

  it('answers a HEAD that it does not take without a body', async () => {
    if (allow.includes('HEAD')) return;
    const answer = await at('HEAD', target);
    expect([answer.status, answer.headers.allow, answer.body.length]).toEqual([405, allow, 0]);
  });

  it('takes what Allow names', async () => {
    for (const method of allow.split(', ')) expect([404, 405]).not.toContain((await at(method, target)).status);
  });
});

describe('a path that is not there', () => {
  it.each([
    '/nowhere',
    '/docs/x',
    '/oauth',
    '/oauth/authorize/a/b',
    '/api',
    '/api/rides',
    '/healthz/',
    '//docs',
    '/DOCS',
  ])('%s is answered 404 to every method', async (target) => {
    for (const method of ['GET', 'POST', 'PROPFIND', 'FOO', 'OPTIONS']) {
      const answer = await at(method, target);
      expect([method, answer.status, answer.headers.allow]).toEqual([method, 404, undefined]);
      expect(json(answer)).toEqual({ error: 'not_found', input: null, detail: 'no such path' });
      expect(answer.headers.date).toBeDefined();
    }
  });
});

it('a parameter that is too long for any sign-in is a path that is not there', async () => {
  for (const method of ['GET', 'POST', 'PUT', 'FOO'])
    expect([method, (await at(method, `/oauth/sign-in/${'x'.repeat(101)}`)).status]).toEqual([method, 404]);
});

describe('raw bytes past 0x7f', () => {
  it('are in no path that is there', async () => {
    for (const method of ['GET', 'POST', 'FOO']) {
      const answer = await at(method, '/d\xf6cs');
      expect([method, answer.status]).toEqual([method, 404]);
      expect(json(answer)).toEqual({ error: 'not_found', input: null, detail: 'no such path' });
    }
  });

  it('in the query of a path beside the interface are left to what is there', async () => {
    expect((await at('GET', '/docs?x=\xe9')).status).toBe(200);
    expect((await at('GET', '/healthz?\xc3\xa9')).status).toBe(200);
    expectFailure(await at('POST', '/docs?x=\xe9'), 405);
    expectFailure(await at('FOO', '/docs?x=\xe9'), 405);
    expect((await at('GET', 'http://elsewhere.example/docs?x=\xe9')).status).toBe(200);
  });

  it('leave a body unread, and the connection closes', async () => {
    const post = requestText('POST', '/oauth/token?x=\xe9', {}, 'a=b');
    const { answers, closed } = await service.converse(post + requestText('GET', '/healthz'));
    expect(answers.map(({ status }) => status)).toEqual([415]);
    expect([closed, answers[0]!.headers.connection]).toEqual([true, 'close']);
  });
});

describe('/', () => {
  it('leads to /docs', async () => {
    const answer = await at('GET', '/');
    expect([answer.status, answer.headers.location]).toEqual([302, 'docs']);
    expect((await at('GET', 'http://rides.example')).headers.location).toBe('docs');
    expect((await at('GET', 'http://rides.example?x=1')).headers.location).toBe('docs');
  });
});

// docs/rules.md#malformed-requests
describe('Host', () => {
  const get = (fields: string, version = '1.1', method = 'GET') =>
    service.converse(`${method} /healthz HTTP/${version}\r\n${fields}\r\n`);

  it.each([
    ['twice', 'Host: x\r\nHost: y\r\n'],
    ['twice with the same value', 'Host: x\r\nhOST: x\r\n'],
    ['twice, far apart', `Host: x\r\n${'A: b\r\n'.repeat(300)}Host: y\r\n`],
    ['not at all', 'A: b\r\n'],
    ['with no value', 'Host:\r\n'],
    ['with blanks alone', 'Host: \t \r\n'],
    ['with a port alone', 'Host: :80\r\n'],
    ['with a space', 'Host: a b\r\n'],
    ['with a scheme', 'Host: http://x/\r\n'],
    ['with user information', 'Host: me@x\r\n'],
    ['with a path', 'Host: x/y\r\n'],
    ['with a query', 'Host: x?y\r\n'],
    ['with a port that is no number', 'Host: x:http\r\n'],
    ['with two ports', 'Host: x:1:2\r\n'],
    ['with half an address', 'Host: [::1\r\n'],
    ['with a bad escape', 'Host: %zz\r\n'],
    ['with raw bytes', 'Host: caf\xe9\r\n'],
    ['with quotes', 'Host: "x"\r\n'],
  ])('%s is malformed', async (_, fields) => {
    for (const method of ['GET', 'POST', 'FOO']) {
      const { answers, closed } = await get(fields, '1.1', method);
      expect(answers).toHaveLength(1);
      expectFailure(answers[0]!, 400);
      expect([closed, answers[0]!.headers.connection]).toEqual([true, 'close']);
    }
  });

  it.each([
    'x',
    'rides.example:443',
    '127.0.0.1:80',
    '[::1]:8080',
    '[::ffff:1.2.3.4]',
    'x_y.example',
    'caf%C3%A9',
    'x:',
  ])('%j is as it should be', async (value) => {
    expect((await get(`Host: ${value}\r\n`)).answers[0]!.status).toBe(200);
  });

  it('need not be named by HTTP/1.0, and not twice either', async () => {
    expect((await get('', '1.0')).answers[0]!.status).toBe(200);
    expect((await get('Host: x\r\nHost: y\r\n', '1.0')).answers[0]!.status).toBe(400);
  });
});

describe('a request line', () => {
  it.each(['GET /healthz HTTP/2.0', 'GET /healthz HTTP/0.9', 'GET * HTTP/1.1', 'FOO * HTTP/1.1', 'FOO docs HTTP/1.1'])(
    '%s is malformed',
    async (line) => {
      const { answers, closed } = await service.converse(`${line}\r\nHost: x\r\n\r\n`);
      expect([answers.length, closed]).toEqual([1, true]);
      expectFailure(answers[0]!, 400);
    },
  );

  it('may ask for the options of the whole server', async () => {
    const answer = await at('OPTIONS', '*');
    expect([answer.status, answer.headers.allow]).toEqual([204, 'GET, HEAD, POST, OPTIONS']);
    expect(answer.headers['access-control-allow-origin']).toBe('*');
  });
});

describe('a HEAD that is refused has no body', () => {
  const head = async (request: string, later: readonly string[] = []) => {
    const { answers, rest, closed } = await service.converse(request, { later, answers: 1 });
    expect([answers.length, rest.length, closed]).toEqual([1, 0, true]);
    expect(answers[0]!.headers.date).toBeDefined();
    return answers[0]!;
  };

  it.each([33_000, 60_000, 100_000, 300_000])('for %d bytes of header fields', async (bytes) => {
    const answer = await head(requestText('HEAD', '/healthz', { 'X-Long': 'x'.repeat(bytes) }));
    expect(answer.status).toBe(431);
  });

  it.each([33_000, 60_000, 100_000])('for a target of %d bytes', async (bytes) => {
    const { answers, rest } = await service.converse(requestText('HEAD', `/docs?${'x'.repeat(bytes)}`));
    expect([answers.length, answers[0]!.status, rest.length]).toEqual([1, 414, 0]);
  });

  it('for what is malformed', async () => {
    expect((await head('HEAD /healthz HTTP/1.1\r\nHost x\r\n\r\n')).status).toBe(400);
    expect((await head('HEAD /healthz HTTP/1.1\r\n\r\n')).status).toBe(400);
    const both = 'Content-Length: 1\r\nTransfer-Encoding: chunked\r\n';
    expect((await head(`HEAD /healthz HTTP/1.1\r\nHost: x\r\n${both}\r\n`)).status).toBe(400);
  });

  it('where it follows another request on its connection', async () => {
    const first = requestText('GET', '/healthz');
    const second = requestText('HEAD', '/healthz', { 'X-Long': 'x'.repeat(40_000) });
    const { answers, rest } = await service.converse(first + second, { answers: 2, methods: ['GET', 'HEAD'] });
    expect(answers.map(({ status }) => status)).toEqual([200, 431]);
    expect(rest.length).toBe(0);
  });

  it('where it comes in small pieces', async () => {
    for (const bytes of [40_000, 120_000]) {
      const request = requestText('HEAD', '/healthz', { 'X-Long': 'x'.repeat(bytes) });
      const received = await inPieces(service.port, request, 1_400);
      expect(received).toMatch(/^HTTP\/1\.1 431 /);
      expect(received.split('\r\n\r\n')[1]).toBe('');
    }
  });
});

it('a GET with too large a header block in small pieces is told so', async () => {
  const received = await inPieces(
    service.port,
    requestText('GET', smallWorld.day, { 'X-Long': 'x'.repeat(40_000), Connection: 'close' }),
    1_400,
  );
  expect(received).toMatch(/^HTTP\/1\.1 431 [\s\S]*"status":431/);
  const target = `${smallWorld.day}?${'x'.repeat(40_000)}`;
  const long = await inPieces(service.port, requestText('GET', target, { Connection: 'close' }), 1_400);
  expect(long).toMatch(/^HTTP\/1\.1 414 [\s\S]*"status":414/);
});

describe('a body that is no body', () => {
  const bodies = [
    ['Transfer-Encoding: gzip\r\n', ''],
    ['Transfer-Encoding: chunked, gzip\r\n', ''],
    ['Transfer-Encoding: identity\r\n', ''],
    ['Transfer-Encoding: chunked\r\n', 'zz\r\nhello\r\n0\r\n\r\n'],
    ['Transfer-Encoding: chunked\r\n', `5;${'x'.repeat(20_000)}\r\nhello\r\n0\r\n\r\n`],
    ['Transfer-Encoding: chunked\r\n', '5\r\nhelloX0\r\n\r\n'],
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

describe('the raw edge', () => {
  it.each([
    ['400', 'nonsense\r\n\r\n'],
    ['400', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
    ['405', 'CONNECT rides.example:443 HTTP/1.1\r\nHost: rides.example:443\r\n\r\n'],
    ['405', 'FOO /docs HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['431', requestText('GET', '/', { 'X-Long': 'x'.repeat(200_000) })],
    ['414', requestText('GET', `/?${'x'.repeat(70_000)}`)],
  ])('has a Date and the headers of every failure: %s', async (status, bytes) => {
    const { answers } = await service.converse(bytes);
    expectFailure(answers[0]!, Number(status));
    expect(answers[0]!.headers.connection).toBe('close');
  });

  it('is the same at every address of a name that has two', async () => {
    const app = httpApp({ onFault: () => {} });
    app.get('/healthz', () => ({}));
    await app.listen({ host: 'localhost', port: 0 });
    for (const { address, port } of app.addresses() as AddressInfo[]) {
      const refused = await inPieces(port, 'FOO /healthz HTTP/1.1\r\nHost: x\r\n\r\n', 1_400, address);
      expect(refused).toMatch(/^HTTP\/1\.1 405 [\s\S]*Allow: GET, HEAD\r\n[\s\S]*Date: /);
    }
    expect(app.addresses().length).toBeGreaterThan(0);
    await app.close();
  });
});

/** What comes back to a request that is sent in pieces of so many bytes. */
function inPieces(port: number, request: string, bytes: number, host = '127.0.0.1'): Promise<string> {
  return new Promise((resolve) => {
    let received = '';
    const socket = connect(port, host, async () => {
      socket.setNoDelay(true);
      for (let at = 0; at < request.length && socket.writable; at += bytes) {
        socket.write(Buffer.from(request.slice(at, at + bytes), 'latin1'));
        await new Promise(setImmediate);
      }
    });
    socket.on('data', (data) => {
      received += data.toString('latin1');
    });
    socket.on('error', () => {});
    socket.on('close', () => resolve(received));
  });
}
