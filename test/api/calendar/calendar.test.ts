import { beforeEach, expect, it } from 'vitest';
import { calendar } from '../../../api/calendar/calendar.ts';
import { ViewCache } from '../../../api/calendar/views/view-cache.ts';
import { textOf } from '../../../api/messages/answer.ts';
import { StoreAwayError, type ViewReader } from '../../../api/ports/view-reader.ts';
import { MemoryViewStore } from '../../../infra/memory/memory-view-store.ts';
import { projecting } from '../../support/processes/service.ts';
import { publicOperations, riderOperations, smallWorld, withKey } from '../../support/worlds/small-world.ts';

/** What cannot be seen over HTTP: what is kept, what is told of riders and faults. Headers' names are in lower case. */

const memory = new MemoryViewStore();

const projector = await projecting(memory.writer());
await projector.publish(smallWorld.records);
await projector.complete();

let cache: ViewCache;
let faults: unknown[];
let gone: string[];
let fault: Error | null;
let readsUntilEmptied: number;
let nowMs: number;
let answers: ReturnType<typeof calendar>;

beforeEach(() => {
  faults = [];
  gone = [];
  fault = null;
  readsUntilEmptied = Number.POSITIVE_INFINITY;
  nowMs = smallWorld.nowMs;
  const direct = memory.reader();
  const orFault = async (read: () => Promise<(Buffer | null)[]>): Promise<(Buffer | null)[]> => {
    if (fault) throw fault;
    return readsUntilEmptied-- > 0 ? read() : (await read()).map(() => null);
  };
  const reader: ViewReader = {
    ...direct,
    get: (keys) => orFault(() => direct.get(keys)),
    fields(key, names) {
      if (names.length === 0) throw new Error('Redis has no answer to HMGET without fields');
      return orFault(() => direct.fields(key, names));
    },
  };
  cache = new ViewCache(reader);
  answers = calendar({
    baseUrl: 'https://rides.example/api',
    cache,
    calendarNowMs: () => nowMs,
    cacheSeconds: 60,
    checker: { check: (token) => (token === 'dead' ? null : token) },
    openApi: Buffer.from(`{"openapi":"${'3'.repeat(1_000)}"}`),
    onFault: (cause) => faults.push(cause),
    riderGone: (rider) => gone.push(rider),
  });
});

const key = withKey()['X-Api-Key']!;

async function ask(path: string, headers: Record<string, string> = { 'x-api-key': key }, method = 'GET') {
  const { operation, answer } = answers({ method, url: `/api${path}`, headers })!;
  const made = await answer;
  return { operation, status: made.status, headers: made.headers, body: textOf(made) };
}

it('a request is counted under its operation, whatever its answer', async () => {
  expect(await ask(smallWorld.ride, {}, 'OPTIONS')).toMatchObject({ operation: 'getRide', status: 204 });
  expect(await ask(smallWorld.ride, undefined, 'DELETE')).toMatchObject({ operation: 'getRide', status: 405 });
  expect(await ask('/me/known')).toMatchObject({ operation: 'getKnown', status: 401 });
  expect(await ask('/me/known', { authorization: 'Bearer ada' })).toMatchObject({ operation: 'getKnown', status: 400 });
  expect(await ask(`/${'x'.repeat(8_000)}`)).toMatchObject({ operation: 'none', status: 414 });
  expect(answers({ method: 'GET', url: '/api/other', headers: {} })).toBeNull();
});

it('a fault of the store is 503, and one of ours 500, which is told', async () => {
  for (const { path } of [...publicOperations, ...riderOperations]) {
    const both = { 'x-api-key': key, authorization: 'Bearer ada' };
    fault = new StoreAwayError('away');
    expect((await ask(path, {})).status).toBe(401);
    expect([await ask(path, both), faults]).toMatchObject([{ status: 503, headers: { 'Retry-After': '1' } }, []]);
    fault = new Error('a bug');
    expect([(await ask(path, both)).status, faults.splice(0)]).toEqual([500, [fault]]);
  }
  // What is kept is answered without a read.
  fault = null;
  await ask(smallWorld.ride);
  nowMs = Number.NaN;
  expect(await ask(smallWorld.ride)).toMatchObject({ operation: 'getRide', status: 500 });
  expect(faults).toEqual([expect.any(RangeError)]);
});

// docs/rules.md#absence
it('a store that is emptied between the first reads of a rider’s own answer makes it 503, and no empty list', async () => {
  for (const { path } of riderOperations) {
    readsUntilEmptied = 1;
    expect([path, (await ask(path, { authorization: 'Bearer ada' })).status]).toEqual([path, 503]);
  }
});

it('of a token’s rider who is gone it is told, but not where a key opens the read', async () => {
  for (const path of [smallWorld.day, smallWorld.day, '/me/nights']) await ask(path, { authorization: 'Bearer eve' });
  expect(gone).toEqual(['eve', 'eve', 'eve']);
  await ask(smallWorld.day, { 'x-api-key': key, authorization: 'Bearer eve' });
  await ask(smallWorld.day, { 'x-api-key': 'x', authorization: 'Bearer dead' });
  expect(gone).toHaveLength(3);
});

it('views that were found kept are counted, and those that had to be read', async () => {
  const { ride, day } = smallWorld;
  for (const path of [ride, ride, day, day, '/rides/unknown']) await ask(path);
  // The key and the ride, twice; the day's metro is read with it the first time. A wrong input needs the key alone, and no tick.
  const wrong = answers({ method: 'GET', url: '/api/rides/x', headers: { 'x-api-key': key } })!;
  expect(wrong.answer).toMatchObject({ status: 400 });
  // What does not exist is never kept, like the card of a rider who is gone, which is not asked for beside the key.
  await ask(ride, { 'x-api-key': key, authorization: 'Bearer eve' });
  expect([cache.hits, cache.misses]).toEqual([0 + 2 + 1 + 2 + 1 + 1 + 2, 2 + 0 + 2 + 0 + 0 + 1 + 0]);
});

// docs/rules.md#max-age
it('an answer without nights is good for as long as any, just before a midnight too', async () => {
  nowMs = Date.parse('2015-06-14T06:59:50Z');
  for (const path of [smallWorld.emptyDay, `${smallWorld.day}?q=nowhere`])
    expect([path, (await ask(path)).headers['Cache-Control']]).toEqual([path, 'private, max-age=60']);
});

// docs/rules.md#compression, #cache-control, #vary
it('the interface’s description, which lives as long as the process, is compressed for its first reader', async () => {
  const { headers } = await ask('/openapi.json', { 'accept-encoding': 'zstd, br' });
  const caching = { 'Cache-Control': 'public, no-cache', Vary: 'Accept-Encoding' };
  expect(headers).toMatchObject({ ...caching, 'Content-Encoding': 'br' });
});
