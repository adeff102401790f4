import fc from 'fast-check';
import { afterAll, expect, it } from 'vitest';
import { startHttpService } from '../../support/processes/http-service.ts';
import { smallWorld } from '../../support/worlds/small-world.ts';

/** Whatever bytes come, the answer is one of those that are documented, and the next request is answered. */

const service = await startHttpService();
afterAll(() => service.close());

const byte = fc.integer({ min: 0x21, max: 0xff }).map((code) => String.fromCharCode(code));
const anyByte = fc.integer({ min: 0, max: 0xff }).map((code) => String.fromCharCode(code));
const piece = fc.constantFrom(
  ...['/', '//', '?', '&', '=', ',', '%', '%2F', '%FF', '%C3%A9', '%00', '+', '#', ';', '..', '*'],
  ...['api', '/api/', 'metros', 'pdx', 'days', '2015-06-13', 'rides', 'loop', 'me', 'nights', 'known', 'openapi.json'],
  ...['q=', 'far=', 'who=', 'where=', 'metro=', 'from=', 'to=', 'close_friends_only=', 'http://', 'rides.example'],
);
const text = (unit: fc.Arbitrary<string>, maxLength: number) =>
  fc.array(unit, { maxLength }).map((parts) => parts.join(''));
const target = fc.oneof(
  text(fc.oneof({ weight: 6, arbitrary: piece }, { weight: 1, arbitrary: byte }), 14).map((rest) => `/api/${rest}`),
  text(piece, 8).map((rest) => `/${rest}`),
  text(byte, 30),
  fc.integer({ min: 1, max: 9_000 }).map((length) => `/api/rides/${'x'.repeat(length)}`),
);
const method = fc.oneof(
  { weight: 6, arbitrary: fc.constant('GET') },
  { weight: 2, arbitrary: fc.constantFrom('HEAD', 'OPTIONS', 'POST', 'QUERY', 'TRACE', 'FOO', 'get') },
);
const name = fc.constantFrom(
  ...[
    'X-Api-Key',
    'Authorization',
    'If-None-Match',
    'Origin',
    'Accept',
    'Cookie',
    'Expect',
    'Upgrade',
    'Range',
    'Host',
  ],
  ...['Forwarded', 'Access-Control-Request-Method'],
);
const value = fc.oneof(
  fc.constantFrom(smallWorld.liveKey, 'Bearer ada', 'Bearer dead', '*', '"empty"', 'W/"x", "y"', '100-continue'),
  text(fc.oneof(byte, fc.constantFrom(' ', '"')), 20),
);
const wellFormed = fc
  .tuple(method, target, fc.array(fc.tuple(name, value), { maxLength: 5 }), fc.boolean())
  .map(([verb, path, fields, live]) => {
    const all = live ? [...fields, ['X-Api-Key', smallWorld.liveKey]] : fields;
    const lines = all.map(([field, text]) => `${field}: ${text}\r\n`).join('');
    return `${verb} ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${lines}\r\n`;
  });
/** A request, most often with a byte or some changed. */
const nearlyOne = fc
  .tuple(wellFormed, fc.array(fc.tuple(fc.nat(), anyByte), { maxLength: 4 }))
  .map(([bytes, places]) => {
    const all = [...bytes];
    for (const [place, damage] of places) all[place % all.length] = damage;
    const joined = `${all.join('')}\r\n\r\n`;
    return { verb: /^\S*/.exec(joined)![0], bytes: joined };
  });

const documented = [200, 204, 304, 400, 401, 404, 405, 414, 431];

it('any bytes are answered as documented, with CORS, and are no fault of ours', async () => {
  await fc.assert(
    fc.asyncProperty(nearlyOne, async ({ verb, bytes }) => {
      // A damaged line may end the request early, and what follows is the next one's.
      const { answers } = await service.converse(bytes, { methods: [verb, 'GET', 'GET', 'GET'], timeoutMs: 3_000 });
      for (const answer of answers.filter(({ status }) => status !== 100)) {
        expect(documented).toContain(answer.status);
        expect(answer.headers).toMatchObject({
          'access-control-allow-origin': '*',
          'access-control-expose-headers': 'ETag, WWW-Authenticate, Retry-After',
        });
        if (answer.status >= 400) {
          expect(answer.headers['cache-control']).toBe('no-store');
          const type = answer.headers['content-type'] ?? '';
          expect(type).toMatch(answer.headers['content-length'] === '0' ? /^$/ : /^application\/(problem\+)?json$/);
        }
      }
      expect(service.faults).toEqual([]);
    }),
    { numRuns: 300, interruptAfterTimeLimit: 60_000 },
  );
  expect((await service.ask(smallWorld.day, { 'X-Api-Key': smallWorld.liveKey })).status).toBe(200);
});
