import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type HttpService, json, requestText, startHttpService } from '../../support/processes/http-service.ts';
import { smallWorld, withKey, withToken } from '../../support/worlds/small-world.ts';

/**
 * Decoding (docs/rules.md#path-decoding, #broken-encoding, #plus-sign) of bytes as they are sent, and base paths, over
 * sockets.
 */

let service: HttpService;
beforeAll(async () => {
  service = await startHttpService();
});
afterAll(() => service.close());

/** What is found: the rides of a day, the status of another answer, and of a 400 the input that it names. */
async function found(path: string) {
  const answer = await service.ask(path, withKey());
  if (answer.status === 400) return [400, (json(answer) as { input: string }).input];
  if (answer.status !== 200 || !path.startsWith('/metros')) return [answer.status];
  return (json(answer) as { nights: { ride: string }[] }).nights.map(({ ride }) => ride);
}

it.each([
  ['/rides/%6Coop', [200]],
  ['/%72ides/%6c%6F%6f%70', [200]],
  ['/rides/lo%2Fop', [400, 'ride']],
  ['/rides/..', [400, 'ride']],
  ['/rides/../rides/loop', [404]],
  ['/metros%2Fpdx/days/2015-06-13', [404]],
  // A path ends at its first question mark.
  ['/rides/loop?/x', [200]],
  ['/rides/loop%3Fx', [400, 'ride']],
  ...[
    ['q=LO%4FP+fountain', ['loop']],
    ['q=cafe%CC%81', ['cafe']],
    ['q=lantern', []],
    ['q=%FFab', [400, 'q']],
    ['who=21++Only', ['loop', 'cafe']],
    ['who=Family%20Friendly%2CGeneral', ['cafe']],
    ['far[]=over_40', ['loop', 'cafe']],
    ['where=alameda', ['loop']],
    ['q=loop?far=x', []],
  ].map(([query, wanted]) => [`/metros/p%64x/days/2015-06-1%33?${query}`, wanted]),
])('%j finds %j', async (path, wanted) => {
  expect(await found(path as string)).toEqual(wanted);
});

it.each([
  ['http://elsewhere.example/api/rides/loop', 200],
  ['HTTP://elsewhere.example:81/api/rides/loop?x=1', 200],
  ['http://elsewhere.example/rides/loop', 404],
])('the target %s, in absolute form, is that path: %i', async (target, status) => {
  expect((await service.exchange(requestText('GET', target, withKey()))).status).toBe(status);
});

describe.each([
  ['https://rides.example/', '', 'https://rides.example/.well-known/oauth-protected-resource'],
  [
    'http://127.0.0.1:8080/caf%C3%A9/api',
    '/caf%C3%A9/api',
    'http://127.0.0.1:8080/.well-known/oauth-protected-resource/caf%C3%A9/api',
  ],
])('with the base URL %s', (baseUrl, basePath, metadata) => {
  let based: HttpService;
  beforeAll(async () => {
    based = await startHttpService({ baseUrl });
  });
  afterAll(() => based.close());
  const at = (target: string, headers: Record<string, string> = {}) =>
    based.exchange(requestText('GET', target, headers));

  it('the interface is below its path and nowhere else', async () => {
    expect((await at(`${basePath}${smallWorld.day}`, withKey())).status).toBe(200);
    expect((await at(`${basePath}/me/nights`, withToken())).status).toBe(200);
    for (const other of ['/other', `${basePath}/x`]) expect((await at(`${other}/openapi.json`)).status).toBe(404);
  });

  it('every 401 names the metadata by it, whatever the Host and forwarding headers say', async () => {
    const forged = { Host: 'evil.example', 'X-Forwarded-Host': 'evil.example', Forwarded: 'host=evil.example' };
    const { headers } = await at(`${basePath}/me/nights`, forged);
    expect(headers['www-authenticate']).toBe(`Bearer resource_metadata="${metadata}", scope="read"`);
    const document = (await at(`${basePath}/openapi.json`, forged)).body.toString();
    expect(document).not.toContain('evil.example');
    expect(JSON.parse(document).servers[0].url.replace(/\/$/, '')).toBe(baseUrl.replace(/\/$/, ''));
  });
});
