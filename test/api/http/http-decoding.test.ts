import { afterAll, expect, it } from 'vitest';
import { json, requestText, startHttpService } from '../../support/processes/http-service.ts';
import { smallWorld, withKey } from '../../support/worlds/small-world.ts';

/**
 * Decoding (docs/rules.md#path-decoding, #broken-encoding, #plus-sign) of bytes as they are sent, and base paths, over
 * sockets.
 */

const service = await startHttpService();
afterAll(() => service.close());

/** What is found: the rides of a day, the status of another answer, and of a 400 the input that it names. */
async function found(path: string) {
  const answer = await service.ask(path, withKey());
  if (answer.status === 400) return [400, (json(answer) as { input: string }).input];
  if (answer.status !== 200 || !path.startsWith('/metros')) return [answer.status];
  return (json(answer) as { nights: { ride: string }[] }).nights.map(({ ride }) => ride);
}

// What inputs are read as is in test/api/calendar/read-inputs.test.ts, what paths are in test/api/messages/target.test.ts.
it.each([
  ['/%72ides/%6c%6F%6f%70', [200]],
  ['/rides/../rides/loop', [404]],
  // A path ends at its first question mark.
  ['/rides/loop?/x', [200]],
  ['/metros/p%64x/days/2015-06-1%33?q=LO%4FP+fountain', ['loop']],
  ['/metros/pdx/days/2015-06-13?q=%FFab', [400, 'q']],
])('%j finds %j', async (path, wanted) => expect(await found(path)).toEqual(wanted));

it.each([
  ['http://elsewhere.example/api/rides/loop', 200],
  ['http://elsewhere.example/rides/loop', 404],
])('the target %s, in absolute form, is that path: %i', async (target, status) => {
  expect((await service.exchange(requestText('GET', target, withKey()))).status).toBe(status);
});

it.each([
  ['https://rides.example/', '', 'https://rides.example/.well-known/oauth-protected-resource'],
  [
    'http://127.0.0.1:8080/caf%C3%A9/api',
    '/caf%C3%A9/api',
    'http://127.0.0.1:8080/.well-known/oauth-protected-resource/caf%C3%A9/api',
  ],
])('at the base URL %s is the interface, and it alone names URLs', async (baseUrl, basePath, metadata) => {
  const based = await startHttpService({ baseUrl });
  const forged = { Host: 'evil.example', 'X-Forwarded-Host': 'evil.example', Forwarded: 'host=evil.example' };
  const at = (target: string, headers = {}) => based.exchange(requestText('GET', target, { ...forged, ...headers }));
  expect((await at(`${basePath}${smallWorld.day}`, withKey())).status).toBe(200);
  for (const other of ['/other', `${basePath}/x`]) expect((await at(`${other}/openapi.json`)).status).toBe(404);
  const { headers } = await at(`${basePath}/me/nights`);
  expect(headers['www-authenticate']).toBe(`Bearer resource_metadata="${metadata}", scope="read"`);
  expect((await at(`${basePath}/openapi.json`)).body.toString()).not.toContain('evil.example');
  await based.close();
});
