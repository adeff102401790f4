import { expect, it } from 'vitest';
import { startHttpService } from '../../support/processes/http-service.ts';
import { publicOperations, riderOperations, smallWorld } from '../../support/worlds/small-world.ts';

/** Cache-Control and Vary of every kind of answer (docs/rules.md#cache-control, #vary), over sockets. */

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
    for (const { path, headers } of [...publicOperations, { ...publicOperations[0]!, path: smallWorld.emptyDay }]) {
      const vary = 'Authorization, X-Api-Key, Accept-Encoding';
      expect(await caching(path, { ...headers, ...more })).toEqual([ofPublicReads, vary]);
    }
    for (const { path, headers } of riderOperations)
      expect(await caching(path, { ...headers, ...more })).toEqual(['private, no-store', undefined]);
    expect(await caching('/openapi.json', more)).toEqual(['public, no-cache', 'Accept-Encoding']);
  }
  await service.close();
});
