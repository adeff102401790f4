import { describe, expect, it } from 'vitest';
import { type HttpService, startHttpService } from '../../support/processes/http-service.ts';
import {
  everyOperation,
  publicOperations,
  riderOperations,
  smallWorld,
  withKey,
} from '../../support/worlds/small-world.ts';

/** Cache-Control and Vary of every kind of answer (docs/rules.md#cache-control, #vary), over sockets. */

const cacheControl = async (service: HttpService, path: string, headers: Record<string, string>) =>
  (await service.ask(path, headers)).headers['cache-control'];

async function withService(
  options: Parameters<typeof startHttpService>[0],
  use: (service: HttpService) => Promise<void>,
): Promise<void> {
  const service = await startHttpService(options);
  try {
    await use(service);
  } finally {
    await service.close();
  }
}

// docs/rules.md#vary
describe('without CACHE_SECONDS', () => {
  it('public reads are private, no-cache and vary with the credentials, at 200 and 304', async () => {
    await withService({}, async (service) => {
      for (const { path, headers } of [...publicOperations, { path: smallWorld.emptyDay, headers: withKey() }]) {
        for (const more of [{}, { 'If-None-Match': '*' }] as Record<string, string>[]) {
          const answer = await service.ask(path, { ...headers, ...more });
          expect(answer.headers).toMatchObject({
            'cache-control': 'private, no-cache',
            vary: path === '/openapi.json' ? 'Accept-Encoding' : 'Authorization, X-Api-Key, Accept-Encoding',
          });
        }
      }
    });
  });
});

describe.each([0, 60, 86_400])('with CACHE_SECONDS=%d', (cacheSeconds) => {
  it("a rider's own answers are private, no-store", async () => {
    await withService({ cacheSeconds }, async (service) => {
      for (const { path, headers } of riderOperations) {
        expect(await cacheControl(service, path, headers)).toBe('private, no-store');
        expect(await cacheControl(service, path, { ...headers, 'If-None-Match': '*' })).toBe('private, no-store');
      }
    });
  });

  it('openapi.json is public, no-cache', async () => {
    await withService({ cacheSeconds }, async (service) => {
      expect(await cacheControl(service, '/openapi.json', {})).toBe('public, no-cache');
      expect(await cacheControl(service, '/openapi.json', { 'If-None-Match': '*' })).toBe('public, no-cache');
    });
  });

  it('errors are no-store', async () => {
    await withService({ cacheSeconds }, async (service) => {
      for (const { path, headers } of everyOperation) {
        expect(await cacheControl(service, `${path}/`, headers)).toBe('no-store');
        expect((await service.ask(path, headers, 'POST')).headers['cache-control']).toBe('no-store');
      }
      for (const { path } of everyOperation.slice(0, 6)) expect(await cacheControl(service, path, {})).toBe('no-store');
      expect(await cacheControl(service, '/rides/x', withKey())).toBe('no-store');
      expect(await cacheControl(service, '/rides/unknown', withKey())).toBe('no-store');
    });
  });
});

// docs/rules.md#max-age
describe('max-age', () => {
  const midnight = Date.parse('2015-06-14T07:00:00Z');
  const second = 1_000;

  it('is CACHE_SECONDS, or the seconds, rounded down, to the local midnight that changes the answer', async () => {
    let nowMs = 0;
    await withService({ cacheSeconds: 3_600, clockMs: () => nowMs }, async (service) => {
      const maxAge = async (path: string) =>
        (await cacheControl(service, path, withKey()))!.match(/max-age=(\d+)/)?.[1];
      for (const [before, wanted] of [
        [7_200 * second, '3600'],
        [3_600 * second, '3600'],
        [3_600 * second - 1, '3599'],
        [90_500, '90'],
        [1_999, '1'],
        [999, '0'],
        [1, '0'],
      ] as const) {
        nowMs = midnight - before;
        expect([before, await maxAge(smallWorld.day)]).toEqual([before, wanted]);
        expect([before, await maxAge(smallWorld.ride)]).toEqual([before, wanted]);
      }
      // At midnight the day is past, and stays so; of the ride a night is left that will be.
      nowMs = midnight;
      expect(await maxAge(smallWorld.day)).toBe('3600');
      nowMs = midnight + 86_400_000 - 5 * second;
      expect(await maxAge(smallWorld.ride)).toBe('5');
      nowMs = midnight + 86_400_000;
      expect(await maxAge(smallWorld.ride)).toBe('3600');
    });
  });
});
