import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { registerSignIn } from '../../../api/sign-in/routes/register-sign-in.ts';
import { type HttpService, json, requestText, startHttpService } from '../../support/processes/http-service.ts';
import type { RawAnswer } from '../../support/servers/raw-http.ts';
import { signInDeps } from '../../support/sign-in/sign-in-service.ts';
import { everyOperation, smallWorld } from '../../support/worlds/small-world.ts';

/** Methods, OPTIONS and CORS (docs/rules.md#options, #cors), over sockets. */

let service: HttpService;
beforeAll(async () => {
  service = await startHttpService({
    register: async (app) => void (await registerSignIn(app, await signInDeps('https://rides.example/api'))),
  });
});
afterAll(() => service.close());

const alwaysAllowed = 'Authorization, X-Api-Key, If-None-Match';
const exposed = 'ETag, WWW-Authenticate, Retry-After';
function expectCors(answer: RawAnswer): void {
  expect(answer.lines.filter(([name]) => name.toLowerCase() === 'access-control-allow-origin')).toEqual([
    [expect.any(String), '*'],
  ]);
  expect(answer.headers['access-control-expose-headers']).toBe(exposed);
}

const otherMethods = ['POST', 'PUT', 'DELETE', 'TRACE', 'QUERY', 'PROPFIND'];

describe.each(everyOperation)('$name', ({ path, headers }) => {
  // docs/rules.md#problems
  it.each(otherMethods)('is answered 405 with Allow to %s, before any credentials', async (method) => {
    const answer = await service.ask(path, {}, method);
    expect(answer.status).toBe(405);
    expect(answer.headers).toMatchObject({
      allow: 'GET, HEAD, OPTIONS',
      'content-type': 'application/problem+json',
      'cache-control': 'no-store',
    });
    expect(json(answer)).toEqual({
      title: 'Method Not Allowed',
      status: 405,
      detail: 'This is read with GET or HEAD.',
    });
    expectCors(answer);
  });

  it.each([
    ['{"not": json', 'application/json'],
    ['<x/>', 'application/xml'],
    ['a=b', 'application/x-www-form-urlencoded'],
    ['anything', ''],
  ])('is answered 405 to POST with the body %j of type %j, and the connection goes on', async (body, type) => {
    const post = requestText('POST', service.basePath + path, type ? { 'Content-Type': type } : {}, body);
    const get = requestText('GET', service.basePath + path, headers);
    const { answers, closed } = await service.converse(post, { later: [get] });
    expect(answers.map(({ status }) => status)).toEqual([405, 200]);
    expect(closed).toBe(false);
  });

  it('answers OPTIONS 204 with Allow, whatever its inputs and credentials are', async () => {
    const answer = await service.ask(`${path}?metro=%FF&q=`, { Authorization: 'Bearer dead' }, 'OPTIONS');
    expect(answer.status).toBe(204);
    expect(answer.headers.allow).toBe('GET, HEAD, OPTIONS');
    expect(answer.headers).not.toHaveProperty('content-length');
    expect(answer.headers).not.toHaveProperty('content-type');
    expect(answer.headers).not.toHaveProperty('access-control-allow-methods');
    expectCors(answer);
  });

  it('answers a preflight with the methods and the headers that may be sent', async () => {
    const answer = await service.ask(
      path,
      {
        Origin: 'https://app.example',
        'Access-Control-Request-Method': 'GET',
        'Access-Control-Request-Headers': 'authorization,content-type, x-requested-with',
      },
      'OPTIONS',
    );
    expect(answer.status).toBe(204);
    expect(answer.headers).toMatchObject({
      allow: 'GET, HEAD, OPTIONS',
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'GET, HEAD, OPTIONS',
      'access-control-allow-headers': `${alwaysAllowed}, authorization, content-type, x-requested-with`,
    });
    expect(answer.headers).not.toHaveProperty('access-control-allow-credentials');
  });

  // docs/rules.md#request-body
  it('ignores the body of a GET', async () => {
    const plain = await service.ask(path, headers);
    for (const body of ['{"q":"x"', 'x'.repeat(100_000)]) {
      const get = requestText('GET', service.basePath + path, { ...headers, 'Content-Type': 'application/json' }, body);
      const { answers } = await service.converse(get, { later: [get] });
      expect(answers.map(({ status }) => status)).toEqual([200, 200]);
      for (const answer of answers) expect(answer.body).toEqual(plain.body);
    }
    const chunked = { ...headers, 'Transfer-Encoding': 'chunked' };
    const get = requestText('GET', service.basePath + path, chunked, '5\r\nhello\r\n0\r\n\r\n');
    const { answers } = await service.converse(get, { later: [get] });
    expect(answers.map(({ status, body }) => [status, body])).toEqual([
      [200, plain.body],
      [200, plain.body],
    ]);
  });

  // docs/rules.md#cors
  it('is open to pages of every origin, whatever the answer', async () => {
    const origin = { Origin: 'https://app.example' };
    expectCors(await service.ask(path, { ...headers, ...origin }));
    expectCors(await service.ask(path, { ...headers, ...origin, 'If-None-Match': '*' }));
    expectCors(await service.ask(path, origin));
    expectCors(await service.ask(path, origin, 'HEAD'));
    expectCors(await service.ask(`${path}/`, { ...headers, ...origin }));
  });
});

describe('the endpoints of signing in', () => {
  const paths = [
    ['/.well-known/oauth-protected-resource/api', 'GET, HEAD, OPTIONS'],
    ['/.well-known/oauth-authorization-server', 'GET, HEAD, OPTIONS'],
    ['/oauth/jwks', 'GET, HEAD, OPTIONS'],
    ['/oauth/token', 'POST, OPTIONS'],
    ['/oauth/revoke', 'POST, OPTIONS'],
    ['/oauth/register', 'POST, OPTIONS'],
  ] as const;
  const at = (method: string, path: string, headers: Record<string, string> = {}) =>
    service.exchange(requestText(method, path, headers));

  it.each(paths)('%s answers preflights', async (path, allow) => {
    const method = allow.split(', ')[0]!;
    const answer = await at('OPTIONS', path, {
      Origin: 'https://app.example',
      'Access-Control-Request-Method': method,
      'Access-Control-Request-Headers': 'authorization,content-type',
    });
    expect([answer.status, answer.headers.allow]).toEqual([204, allow]);
    expect(answer.headers['access-control-allow-methods']).toContain(method);
    expect(answer.headers['access-control-allow-headers']).toBe(`${alwaysAllowed}, authorization, content-type`);
    expect(answer.headers).not.toHaveProperty('access-control-allow-credentials');
    expectCors(answer);
  });

  it('are open to pages of every origin also in their errors', async () => {
    const form = { 'Content-Type': 'application/x-www-form-urlencoded', Origin: 'https://app.example' };
    const refused = await service.exchange(requestText('POST', '/oauth/token', form, 'grant_type=none'));
    expect(refused.status).toBeGreaterThanOrEqual(400);
    expectCors(refused);
    const registered = await service.exchange(
      requestText(
        'POST',
        '/oauth/register',
        { 'Content-Type': 'application/json', Origin: 'https://app.example' },
        '{',
      ),
    );
    expect(registered.status).toBe(400);
    expectCors(registered);
  });
});

describe('CORS', () => {
  it.each([
    ['', ''],
    ['x y, "z", é, , x:z', ''],
    [Array.from({ length: 25 }, (_, i) => `x-${i}`).join(), Array.from({ length: 20 }, (_, i) => `, x-${i}`).join('')],
    [`${'x'.repeat(60)},${'y'.repeat(61)}`, `, ${'x'.repeat(60)}`],
  ])('allows names of headers alone, and not any number: %j', async (asked, allowed) => {
    const preflight = { 'Access-Control-Request-Method': 'GET', 'Access-Control-Request-Headers': asked };
    const { headers } = await service.ask(smallWorld.day, preflight, 'OPTIONS');
    expect(headers['access-control-allow-headers']).toBe(alwaysAllowed + allowed);
  });
});
