import type { FastifyInstance } from 'fastify';
import { expect, it } from 'vitest';
import { requestText, startHttpService } from '../../support/processes/http-service.ts';
import { everyOperation, smallWorld, withKey, withToken } from '../../support/worlds/small-world.ts';
import { expectFailure } from './expect-failure.ts';

/** Long URLs, their bytes as they are sent, base paths and connections (docs/rules.md#long-urls, #problems), over sockets. */

const service = await startHttpService();

const statusOf = async (target: string) => (await service.exchange(requestText('GET', target, withKey()))).status;

it.each(everyOperation)('a URL of 8,000 bytes works, and one byte more is 414: $name', async ({ path, headers }) => {
  const start = `/api${path}${path.includes('?') ? '&' : '?'}utm=`;
  const [longest, longer] = [8_000, 8_001].map((bytes) => requestText('GET', start.padEnd(bytes, 'x'), headers));
  expect((await service.exchange(longest!)).status).toBe(200);
  expectFailure(await service.exchange(longer!), 414, 'URLs of up to 8,000 bytes are read.');
});

it('1,000 header fields are read, and one more is 431', async () => {
  const others = Object.fromEntries(Array.from({ length: 998 }, (_, i) => [`X-${i}`, 'x']));
  for (const [more, status] of [[{}, 200] as const, [{ Accept: '*/*' }, 431] as const])
    expect((await service.ask(smallWorld.day, { ...others, ...withKey(), ...more })).status).toBe(status);
});

// What inputs are read as is in test/api/calendar/read-inputs.test.ts, what paths are in test/api/messages/target.test.ts.
it('a target is decoded once as it is sent, ends at its first question mark, and may be in absolute form', async () => {
  const found = await service.ask('/metros/p%64x/days/2015-06-1%33?q=LO%4FP+fountain', withKey());
  expect(found.body.toString()).toContain('"nights":[{"ride":"loop"');
  const targets = ['/api/%72ides/%6c%6F%6f%70?/x', 'http://elsewhere.example/api/rides/loop'];
  for (const target of targets) expect([target, await statusOf(target)]).toEqual([target, 200]);
  for (const target of ['/api/rides/../rides/loop', 'http://elsewhere.example/rides/loop'])
    expect([target, await statusOf(target)]).toEqual([target, 404]);
});

it.each([
  ['https://rides.example', '/', ''],
  ['http://127.0.0.1:8080', '/caf%C3%A9/api', '/caf%C3%A9/api'],
])('at the base URL %s%s is the interface, and it alone names URLs', async (origin, path, basePath) => {
  const [baseUrl, metadata] = [origin + path, `${origin}/.well-known/oauth-protected-resource${basePath}`];
  const based = await startHttpService({ baseUrl });
  const forged = { Host: 'evil.example', 'X-Forwarded-Host': 'evil.example', Forwarded: 'host=evil.example' };
  const at = (target: string, headers = {}) => based.exchange(requestText('GET', target, { ...forged, ...headers }));
  expect((await at(`${basePath}${smallWorld.day}`, withKey())).status).toBe(200);
  for (const other of ['/other', `${basePath}/x`]) expect((await at(`${other}/openapi.json`)).status).toBe(404);
  const { headers } = await at(`${basePath}/me/nights`);
  expect(headers['www-authenticate']).toBe(`Bearer resource_metadata="${metadata}", scope="read"`);
  const document = (await at(`${basePath}/openapi.json`)).body.toString();
  expect(document).toContain(`"servers":[{"url":"${origin}${basePath}"`);
  expect([document.includes(`${metadata}\\"`), document.includes('evil.example')]).toEqual([true, false]);
});

it.each([
  ['stops', '/api/me/nights'],
  ['stops', '/healthz'],
  ['is told to stop', '/api/me/nights'],
])('while the service %s, an open connection is answered, and told to close: %s', async (when, next) => {
  const held = Promise.withResolvers<string>();
  const asked = Promise.withResolvers<void>();
  const told = new AbortController();
  const check = () => {
    asked.resolve();
    return held.promise;
  };
  const register = (app: FastifyInstance) => void app.get('/healthz', () => ({}));
  const stopping = await startHttpService({ checker: { check }, draining: told.signal, register });
  const mine = requestText('GET', '/api/me/nights', withToken());
  const both = stopping.converse(mine, { later: [requestText('GET', next, withToken())] });
  await asked.promise;
  const closed = when === 'stops' ? stopping.app.close() : told.abort();
  await new Promise(setImmediate);
  held.resolve('ada');
  const { answers } = await both;
  expect(answers.map(({ status, headers }) => `${status} ${headers.connection}`)).toEqual([
    '200 keep-alive',
    '200 close',
  ]);
  await closed;
});
