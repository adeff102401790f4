import { expect, it } from 'vitest';
import { startHttpService } from '../../support/processes/http-service.ts';
import {
  everyOperation,
  publicOperations,
  riderOperations,
  smallWorld,
  withKey,
} from '../../support/worlds/small-world.ts';

/** Cache-Control and Vary of every kind of answer (docs/rules.md#cache-control, #vary, #max-age), over sockets. */

it.each([
  [0, 'private, no-cache'],
  [60, 'private, max-age=60'],
])('with CACHE_SECONDS=%i public reads are %s, and all else is as ever', async (cacheSeconds, ofPublicReads) => {
  const service = await startHttpService({ cacheSeconds });
  const caching = async (path: string, headers: Record<string, string>, method = 'GET') => {
    const answer = await service.ask(path, headers, method);
    return [answer.headers['cache-control'], answer.headers.vary];
  };
  for (const more of [{}, { 'If-None-Match': '*' }] as Record<string, string>[]) {
    for (const { path, headers } of [...publicOperations, { path: smallWorld.emptyDay, headers: withKey() }]) {
      const vary = 'Authorization, X-Api-Key, Accept-Encoding';
      expect(await caching(path, { ...headers, ...more })).toEqual([ofPublicReads, vary]);
    }
    for (const { path, headers } of riderOperations)
      expect(await caching(path, { ...headers, ...more })).toEqual(['private, no-store', undefined]);
    expect(await caching('/openapi.json', more)).toEqual(['public, no-cache', 'Accept-Encoding']);
  }
  for (const { path, headers } of everyOperation) {
    expect(await caching(`${path}/`, headers)).toEqual(['no-store', undefined]);
    expect(await caching(path, headers, 'POST')).toEqual(['no-store', undefined]);
    if (path !== '/openapi.json') expect(await caching(path, {})).toEqual(['no-store', undefined]);
  }
  expect(await caching('/rides/x', withKey())).toEqual(['no-store', undefined]);
  expect(await caching('/rides/unknown', withKey())).toEqual(['no-store', undefined]);
  await service.close();
});

it('max-age is CACHE_SECONDS, or the seconds, rounded down, to the local midnight that changes the answer', async () => {
  const midnight = Date.parse('2015-06-14T07:00:00Z');
  let nowMs = 0;
  const service = await startHttpService({ cacheSeconds: 3_600, clockMs: () => nowMs });
  const maxAge = async (path: string) => {
    const { headers } = await service.ask(path, withKey());
    return /max-age=(\d+)/.exec(headers['cache-control']!)?.[1];
  };
  for (const [before, wanted] of [
    [7_200_000, '3600'],
    [3_600_000, '3600'],
    [3_599_999, '3599'],
    [90_500, '90'],
    [999, '0'],
  ] as const) {
    nowMs = midnight - before;
    expect([before, await maxAge(smallWorld.day)]).toEqual([before, wanted]);
    expect([before, await maxAge(smallWorld.ride)]).toEqual([before, wanted]);
  }
  // No midnight changes a day that shows no night.
  expect(await maxAge(`${smallWorld.day}?q=nothing`)).toBe('3600');
  // At midnight the day is past, and stays so; of the ride a night is left that will be.
  nowMs = midnight;
  expect(await maxAge(smallWorld.day)).toBe('3600');
  nowMs = midnight + 86_400_000 - 5_000;
  expect(await maxAge(smallWorld.ride)).toBe('5');
  nowMs = midnight + 86_400_000;
  expect(await maxAge(smallWorld.ride)).toBe('3600');
  await service.close();
});
