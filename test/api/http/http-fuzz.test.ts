import fc from 'fast-check';
import { expect, it } from 'vitest';
import { startHttpService } from '../../support/processes/http-service.ts';
import { smallWorld } from '../../support/worlds/small-world.ts';

/** Whatever bytes come, the answer is one of those that are documented, and the next request is answered. */

const service = await startHttpService();

const byteFrom = (min: number) => fc.integer({ min, max: 0xff }).map((code) => String.fromCharCode(code));
const byte = byteFrom(0x21);
const text = (unit: fc.Arbitrary<string>, maxLength: number) =>
  fc.array(unit, { maxLength }).map((parts) => parts.join(''));
const piece = fc.constantFrom(
  ...['/', '//', '?', '&', '=', ',', '%', '%2F', '%FF', '%C3%A9', '%00', '+', '#', ';', '..', '*'],
  ...['api', '/api/', 'metros', 'pdx', 'days', '2015-06-13', 'rides', 'loop', 'me', 'nights', 'known', 'openapi.json'],
  ...['q=', 'far=', 'who=', 'where=', 'metro=', 'from=', 'to=', 'close_friends_only=', 'http://', 'rides.example'],
);
const target = fc.oneof(
  text(fc.oneof({ weight: 6, arbitrary: piece }, { weight: 1, arbitrary: byte }), 14).map((rest) => `/api/${rest}`),
  text(byte, 30),
);
const method = fc.constantFrom('GET', 'GET', 'GET', 'GET', 'HEAD', 'OPTIONS', 'POST', 'QUERY', 'TRACE', 'FOO', 'get');
const name = fc.constantFrom(
  ...['X-Api-Key', 'Authorization', 'If-None-Match', 'Origin', 'Accept', 'Expect', 'Upgrade', 'Range', 'Host'],
  'Access-Control-Request-Method',
);
const value = fc.oneof(
  fc.constantFrom(smallWorld.liveKey, 'Bearer ada', 'Bearer dead', '*', '"empty"', 'W/"x", "y"', '100-continue'),
  text(fc.oneof(byte, fc.constantFrom(' ', '"')), 20),
);
const field = fc.tuple(fc.oneof(name, fc.constant('X-Api-Key')), value).map(([named, of]) => `${named}: ${of}\r\n`);
/** A request, most often with a byte or some changed. */
const nearlyOne = fc
  .tuple(method, target, text(field, 5), fc.array(fc.tuple(fc.nat(), byteFrom(0)), { maxLength: 4 }))
  .map(([verb, path, fields, places]) => {
    const all = [...`${verb} ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${fields}\r\n`];
    for (const [place, damage] of places) all[place % all.length] = damage;
    return `${all.join('')}\r\n\r\n`;
  });

const documented = [200, 204, 304, 400, 401, 404, 405, 414, 431];

it('any bytes are answered as documented, with CORS, and are no fault of ours', async () => {
  const check = async (bytes: string) => {
    // A damaged line may end the request early, and what follows is the next one's.
    const methods = [/^\S*/.exec(bytes)![0], 'GET', 'GET', 'GET'];
    const { answers } = await service.converse(bytes, { methods, timeoutMs: 3_000 });
    for (const { status, headers } of answers.filter((answer) => answer.status !== 100)) {
      expect(documented).toContain(status);
      expect(headers['access-control-allow-origin']).toBe('*');
      if (status < 400) continue;
      expect(headers['cache-control']).toBe('no-store');
      const type = headers['content-length'] === '0' ? /^$/ : /^application\/(problem\+)?json$/;
      expect(headers['content-type'] ?? '').toMatch(type);
    }
    expect(service.faults).toEqual([]);
  };
  await fc.assert(fc.asyncProperty(nearlyOne, check), { numRuns: 300, interruptAfterTimeLimit: 60_000 });
  expect((await service.ask(smallWorld.day, { 'X-Api-Key': smallWorld.liveKey })).status).toBe(200);
});
