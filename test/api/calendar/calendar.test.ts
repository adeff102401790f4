import { createHash } from 'node:crypto';
import { beforeAll, beforeEach, expect, it } from 'vitest';
import { type CalendarDeps, calendar } from '../../../api/calendar/calendar.ts';
import { ViewCache } from '../../../api/calendar/views/view-cache.ts';
import { textOf } from '../../../api/messages/answer.ts';
import { StoreAwayError, type ViewReader } from '../../../api/ports/view-reader.ts';
import { MemoryViewStore } from '../../../infra/memory/memory-view-store.ts';
import { projecting } from '../../support/processes/service.ts';
import { toLogRecord } from '../../support/worlds/histories.ts';
import { publicOperations, riderOperations, smallWorld, withKey } from '../../support/worlds/small-world.ts';

/** What cannot be seen over HTTP: what is kept, what is told of riders and faults. Headers' names are in lower case. */

const memory = new MemoryViewStore();
const latinKey = 'rck_\xe9';

beforeAll(async () => {
  const projector = await projecting(memory.writer());
  const key_hash = createHash('sha256').update(Buffer.from(latinKey, 'latin1')).digest();
  const latin = { key_id: 'k3', key_hash, label: null, revision: 1, changed_at: 0 };
  const records = [...smallWorld.records, { topic: 'developer-keys' as const, key: 'k3', value: latin }];
  for (const [offset, { topic, key, value }] of records.entries()) {
    const record = { topic, partition: 0, offset, timestampMs: 0, key, value };
    await projector.take({ topic, partition: 0, records: [toLogRecord(record)], nextOffset: offset + 1 });
  }
  await projector.settle();
  await projector.complete();
});

let cache: ViewCache;
let faults: unknown[];
let gone: string[];
let fault: Error | null;
let deps: CalendarDeps;
let answers: ReturnType<typeof calendar>;

beforeEach(() => {
  faults = [];
  gone = [];
  fault = null;
  const direct = memory.reader();
  const orFault = async <T>(read: () => Promise<T>): Promise<T> => {
    if (fault) throw fault;
    return read();
  };
  const reader: ViewReader = {
    ...direct,
    get: (keys) => orFault(() => direct.get(keys)),
    fields: (key, names) => orFault(() => direct.fields(key, names)),
  };
  cache = new ViewCache(reader);
  deps = {
    baseUrl: 'https://rides.example/api',
    cache,
    calendarNowMs: () => smallWorld.nowMs,
    cacheSeconds: 60,
    checker: { check: (token) => (token === 'dead' ? null : token) },
    openApi: Buffer.from('{"openapi":"3.1.0"}'),
    onFault: (cause) => faults.push(cause),
    riderGone: (rider) => gone.push(rider),
  };
  answers = calendar(deps);
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
  expect(await ask(`/${'x'.repeat(8_000)}`)).toMatchObject({ operation: 'none', status: 414 });
  expect(answers({ method: 'GET', url: '/api/other', headers: {} })).toBeNull();
});

it('a fault of the store is 503, and one of ours 500, which is told', async () => {
  for (const { path } of [...publicOperations, ...riderOperations]) {
    const both = { 'x-api-key': key, authorization: 'Bearer ada' };
    fault = new StoreAwayError('away');
    expect([await ask(path, both), faults]).toMatchObject([{ status: 503, headers: { 'Retry-After': '1' } }, []]);
    fault = new Error('a bug');
    expect([(await ask(path, both)).status, faults.splice(0)]).toEqual([500, [fault]]);
  }
});

it('of a token’s rider who is gone it is told, but not where a key opens the read', async () => {
  for (const path of [smallWorld.day, smallWorld.day, '/me/nights']) await ask(path, { authorization: 'Bearer eve' });
  expect(gone).toEqual(['eve', 'eve', 'eve']);
  await ask(smallWorld.day, { 'x-api-key': key, authorization: 'Bearer eve' });
  await ask(smallWorld.day, { 'x-api-key': 'x', authorization: 'Bearer dead' });
  expect(gone).toHaveLength(3);
});

it('a developer key is hashed by the bytes that were sent', async () => {
  expect((await ask(smallWorld.day, { 'x-api-key': latinKey })).status).toBe(200);
});

it('answers that are made at the same time are those that are made one after the other', async () => {
  const asked = riderOperations.flatMap(({ path }) => ['ada', 'bob', 'cleo'].map((rider) => ({ path, rider })));
  const askAs = ({ path, rider }: (typeof asked)[number]) => ask(path, { authorization: `Bearer ${rider}` });
  const alone = [];
  for (const each of asked) alone.push(await askAs(each));
  expect(new Set(alone.map(({ body }) => body)).size).toBeGreaterThan(riderOperations.length);
  expect(await Promise.all(asked.map(askAs))).toEqual(alone);
});

it('views that were found kept are counted, and those that had to be read', async () => {
  const counts = async (path: string, headers?: Record<string, string>) => {
    const [hits, misses] = [cache.hits, cache.misses];
    await ask(path, headers);
    return [cache.hits - hits, cache.misses - misses];
  };
  expect([await counts(smallWorld.ride), await counts(smallWorld.ride)]).toEqual([
    [0, 2],
    [2, 0],
  ]);
  // The metro is asked for with the day; what does not exist is never kept.
  expect([await counts(smallWorld.day), await counts('/rides/unknown'), await counts('/rides/unknown')]).toEqual([
    [1, 2],
    [1, 1],
    [1, 1],
  ]);
});

// docs/rules.md#max-age
it('a public read may be kept up to the midnight of its zone that changes it, in whole seconds, else for CACHE_SECONDS', async () => {
  const toMidnight = 5 * 3_600;
  const maxAges = async (cacheSeconds: number, nowMs: number) => {
    answers = calendar({ ...deps, cacheSeconds, calendarNowMs: () => nowMs });
    const { day, ride, emptyDay } = smallWorld;
    const [past, later] = ['12', '14'].map((date) => day.replace('-13', `-${date}`));
    const paths = [day, `${day}?q=loop`, ride, `${day}?q=nothing`, emptyDay, past!, later!];
    const cachings = await Promise.all(paths.map(async (path) => (await ask(path)).headers['Cache-Control']));
    return cachings.map((caching) => Number(/^private, max-age=(\d+)$/.exec(caching!)?.[1]));
  };
  const [now, most] = [smallWorld.nowMs, 86_400];
  const unchanged = [most, most, most, most];
  expect(await maxAges(most, now)).toEqual([toMidnight, toMidnight, toMidnight, ...unchanged]);
  expect((await maxAges(most, now + 1))[0]).toBe(toMidnight - 1);
  expect((await maxAges(toMidnight - 9, now))[0]).toBe(toMidnight - 9);
});
