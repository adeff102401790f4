import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { requestText, startHttpService } from '../../support/processes/http-service.ts';
import type { RawAnswer } from '../../support/servers/raw-http.ts';
import { everyOperation, smallWorld, withKey, withToken } from '../../support/worlds/small-world.ts';
import { expectFailure } from './expect-failure.ts';

/** What holds of every operation (docs/rules.md#bytes, #etag, #if-none-match, #head, #options, #cors), over sockets. */

const service = await startHttpService();

const alwaysAllowed = 'Authorization, X-Api-Key, If-None-Match';
const withoutDate = ({ lines }: RawAnswer) => lines.filter(([name]) => name !== 'Date');

describe.each(everyOperation)('$name', ({ path, headers }) => {
  const ask = (more: Record<string, string> = {}, method = 'GET') => service.ask(path, { ...headers, ...more }, method);

  // docs/rules.md#cache-control, #vary
  it('answers 200 with JSON as JSON.stringify writes it, with a strong ETag and words for caches', async () => {
    const answer = await ask();
    expect(answer.status).toBe(200);
    const text = answer.body.toString();
    expect(JSON.stringify(JSON.parse(text))).toBe(text);
    const sent = { 'content-type': 'application/json', 'content-length': `${answer.body.length}` };
    expect(answer.headers).toMatchObject(sent);
    const ofPublic = ['private, no-cache', 'Authorization, X-Api-Key, Accept-Encoding'];
    const ofRider = path.startsWith('/me/') ? ['private, no-store', undefined] : ofPublic;
    const caching = path === '/openapi.json' ? ['public, no-cache', 'Accept-Encoding'] : ofRider;
    expect([answer.headers['cache-control'], answer.headers.vary]).toEqual(caching);
    expect(answer.headers.etag).toMatch(/^"[!#-~]+"$/);
    expect((await ask()).headers.etag).toBe(answer.headers.etag);
  });

  it('answers HEAD as GET, headers and all, without the body', async () => {
    for (const some of [headers, withToken('dead')]) {
      const [get, head] = [await service.ask(path, some), await service.ask(path, some, 'HEAD')];
      expect([head.status, head.body.length, withoutDate(head)]).toEqual([get.status, 0, withoutDate(get)]);
    }
  });

  it('answers 304 to its ETag and to *, with what a cache updates its copy with', async () => {
    const get = await ask();
    for (const sent of [get.headers.etag!, '*']) {
      for (const method of ['GET', 'HEAD']) {
        const answer = await ask({ 'If-None-Match': sent }, method);
        expect([sent, answer.status, answer.body.length]).toEqual([sent, 304, 0]);
        const wanted = withoutDate(get).filter(([name]) => name !== 'Content-Length' && name !== 'Content-Type');
        expect(withoutDate(answer)).toEqual(wanted);
      }
    }
  });

  const target = `/api${path}`;

  // docs/rules.md#problems
  it('is answered 405 with Allow, before any credentials, whatever the body, and the connection goes on', async () => {
    for (const [method, type] of Object.entries({ POST: 'application/json', QUERY: 'any' })) {
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
    for (const [more, age, methods, allowed] of [
      [{ Authorization: 'Bearer dead' }, undefined, undefined, undefined],
      [preflight, '86400', 'GET, HEAD, OPTIONS', `${alwaysAllowed}, authorization, content-type, x-requested-with`],
    ] as const) {
      const { status, headers } = await service.ask(`${path}?metro=%FF&q=`, more, 'OPTIONS');
      expect({ status, ...headers }).toMatchObject({
        status: 204,
        allow: 'GET, HEAD, OPTIONS',
        'access-control-allow-origin': '*',
        'access-control-expose-headers': 'ETag, WWW-Authenticate, Retry-After',
      });
      const names = ['max-age', 'allow-methods', 'allow-headers', 'allow-credentials'];
      expect(names.map((name) => headers[`access-control-${name}`])).toEqual([age, methods, allowed, undefined]);
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

describe('If-None-Match', () => {
  const ask = (more: Record<string, string> = {}) => service.ask(smallWorld.day, { ...withKey(), ...more });

  it('is a list that is compared weakly', async () => {
    const etag = (await ask()).headers.etag!;
    for (const sent of [`W/${etag}`, `"x", ${etag}`, `${etag}, "x"`, `"x",W/"y",W/${etag} ,"z"`, `, ,${etag},,`, ' * '])
      expect([sent, (await ask({ 'If-None-Match': sent })).status]).toEqual([sent, 304]);
    // Two lines are one list.
    expect((await ask({ 'If-None-Match': '"x"', 'if-none-match': etag })).status).toBe(304);
  });

  it('is ignored where it is malformed or has another ETag, as other preconditions and ranges are', async () => {
    const etag = (await ask()).headers.etag!;
    const bare = etag.slice(1, -1);
    const malformed = ['', bare, `"${bare}`, `w/${etag}`, `W/ ${etag}`, `${etag} ${etag}`, `${etag}x`, `*, ${etag}`];
    for (const sent of ['"x"', 'W/"x"', `"x${bare}"`, '"*"', ...malformed])
      expect([sent, (await ask({ 'If-None-Match': sent })).status]).toEqual([sent, 200]);
    for (const some of [{ 'If-Match': '"x"' }, { Range: 'bytes=0-1', 'If-Range': etag }] as Record<string, string>[])
      expect((await ask(some)).status).toBe(200);
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

// docs/metrics.md
it('answers of the interface and of sign-in are told with their operation, status and seconds, and no others', async () => {
  const told: [string, number, number][] = [];
  const slow = async () => await sleep(20, {});
  const own = await startHttpService({
    checker: { check: async () => await sleep(20, null) },
    onAnswer: (...of) => told.push(of),
    register: (app) => {
      for (const path of ['/oauth/slow/:id', '/.well-known/slow', '/healthz']) app.get(path, slow);
    },
  });
  for (const target of ['/api/me/nights', '/oauth/slow/7', '/.well-known/slow', '/healthz'])
    await own.exchange(requestText('GET', target, withToken()));
  await expect.poll(() => told.length).toBe(3);
  const named = told.map(([operation, status]) => `${operation} ${status}`);
  expect(named).toEqual(['getMyNights 401', '/oauth/slow/:id 200', '/.well-known/slow 200']);
  // Twenty milliseconds, on a busy machine too.
  expect(told.filter(([, , seconds]) => seconds < 0.01 || seconds > 15)).toEqual([]);
});
