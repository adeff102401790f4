import { afterAll, describe, expect, it } from 'vitest';
import { requestText, startHttpService } from '../../support/processes/http-service.ts';
import { everyOperation, smallWorld } from '../../support/worlds/small-world.ts';
import { expectFailure } from './expect-failure.ts';

/** Methods, OPTIONS and CORS (docs/rules.md#options, #cors), over sockets. */

const service = await startHttpService();
afterAll(() => service.close());

const alwaysAllowed = 'Authorization, X-Api-Key, If-None-Match';

describe.each(everyOperation)('$name', ({ path, headers }) => {
  const target = `/api${path}`;

  // docs/rules.md#problems
  it('is answered 405 with Allow, before any credentials, whatever the body, and the connection goes on', async () => {
    for (const [method, type] of [
      ['POST', 'application/json'],
      ['QUERY', 'any'],
    ] as const) {
      const request = requestText(method, target, { 'Content-Type': type }, '{"not": json');
      const { answers, closed } = await service.converse(request, { later: [requestText('GET', target, headers)] });
      const [refused, next] = answers;
      expectFailure(refused!, 405, 'This is read with GET or HEAD.');
      expect(refused!.headers.allow).toBe('GET, HEAD, OPTIONS');
      expect([next!.status, closed]).toEqual([200, false]);
    }
  });

  it('answers OPTIONS, and a preflight with the headers that may be sent, whatever inputs and credentials are', async () => {
    const asked = 'authorization,content-type, x-requested-with';
    const preflight = { 'Access-Control-Request-Method': 'GET', 'Access-Control-Request-Headers': asked };
    for (const [more, methods, allowed] of [
      [{ Authorization: 'Bearer dead' }, undefined, undefined],
      [preflight, 'GET, HEAD, OPTIONS', `${alwaysAllowed}, authorization, content-type, x-requested-with`],
    ] as const) {
      const { status, headers } = await service.ask(`${path}?metro=%FF&q=`, more, 'OPTIONS');
      expect({ status, ...headers }).toMatchObject({
        status: 204,
        allow: 'GET, HEAD, OPTIONS',
        'access-control-allow-origin': '*',
        'access-control-expose-headers': 'ETag, WWW-Authenticate, Retry-After',
      });
      const names = ['methods', 'headers', 'credentials'].map((name) => headers[`access-control-allow-${name}`]);
      expect(names).toEqual([methods, allowed, undefined]);
    }
  });

  // docs/rules.md#request-body
  it('ignores the body of a GET', async () => {
    const plain = await service.ask(path, headers);
    for (const [more, body] of [
      [{}, 'x'.repeat(100_000)],
      [{ 'Transfer-Encoding': 'chunked' }, '5\r\nhello\r\n0\r\n\r\n'],
    ] as const) {
      const get = requestText('GET', target, { ...headers, ...more }, body);
      const { answers } = await service.converse(get, { later: [get] });
      expect(answers.map(({ status }) => status)).toEqual([200, 200]);
      for (const answer of answers) expect(answer.body).toEqual(plain.body);
    }
  });
});

it.each([
  ['x y, "z", é, , x:z', ''],
  [Array.from({ length: 25 }, (_, i) => `x-${i}`).join(), Array.from({ length: 20 }, (_, i) => `, x-${i}`).join('')],
  [`${'x'.repeat(60)},${'y'.repeat(61)}`, `, ${'x'.repeat(60)}`],
])('a preflight allows names of headers alone, and not any number: %j', async (asked, allowed) => {
  const preflight = { 'Access-Control-Request-Method': 'GET', 'Access-Control-Request-Headers': asked };
  const { headers } = await service.ask(smallWorld.day, preflight, 'OPTIONS');
  expect(headers['access-control-allow-headers']).toBe(alwaysAllowed + allowed);
});
