import { describe, expect, it } from 'vitest';
import { metro, night, ride } from '../../reference/example-log.ts';
import { type HttpService, startHttpService } from '../../support/http-service.ts';
import { everyOperation, publicOperations, riderOperations, smallWorld, withKey } from '../../support/small-world.ts';

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
            vary: 'Authorization, X-Api-Key',
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

  it('is the whole of CACHE_SECONDS where no midnight changes the answer', async () => {
    await withService({ cacheSeconds: 3_600, clockMs: () => midnight - 10 * second }, async (service) => {
      for (const path of [
        smallWorld.emptyDay,
        '/metros/quiet/days/2015-06-13',
        '/metros/pdx/days/2015-06-12',
        '/metros/pdx/days/2015-06-14',
        `${smallWorld.day}?q=nothing`,
      ]) {
        expect([path, await cacheControl(service, path, withKey())]).toEqual([path, 'private, max-age=3600']);
      }
      expect(await cacheControl(service, `${smallWorld.day}?q=loop`, withKey())).toBe('private, max-age=10');
      expect(await cacheControl(service, smallWorld.day, { ...withKey(), 'If-None-Match': '*' })).toBe(
        'private, max-age=10',
      );
    });
  });

  it('looks ahead over days of 23 and 25 hours, and over the clock that goes back past midnight', async () => {
    const records = [
      ...smallWorld.records,
      metro('stj', { time_zone: 'America/St_Johns' }),
      ride('rock', { metro: 'stj' }),
      night('rock', '2010-11-06'),
    ];
    // The 6th began to be past at 00:00 of the 7th, was not at 23:01, and was for good an hour later.
    const first = Date.parse('2010-11-07T02:30:00Z');
    let nowMs = 0;
    await withService({ cacheSeconds: 86_400, clockMs: () => nowMs, records }, async (service) => {
      const told = async () => {
        const answer = await service.ask('/metros/stj/days/2010-11-06', withKey());
        return [answer.body.toString().includes('"past":true'), answer.headers['cache-control']];
      };
      nowMs = first - 10 * second;
      expect(await told()).toEqual([false, 'private, max-age=10']);
      nowMs = first;
      expect(await told()).toEqual([true, 'private, max-age=60']);
      nowMs = first + 60 * second;
      expect(await told()).toEqual([false, `private, max-age=${59 * 60}`]);
      nowMs = first + 3_600 * second;
      expect(await told()).toEqual([true, 'private, max-age=86400']);
    });
  });
});
