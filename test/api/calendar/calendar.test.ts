import { createHash } from 'node:crypto';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { calendar } from '../../../api/calendar/calendar.ts';
import { ViewCache } from '../../../api/calendar/views/view-cache.ts';
import type { TokenChecker } from '../../../api/ports/token-check.ts';
import { StoreAwayError, type ViewReader } from '../../../api/ports/view-reader.ts';
import { MemoryViewStore } from '../../../infra/memory/memory-view-store.ts';
import { answering, projecting } from '../../support/processes/service.ts';
import { toLogRecord } from '../../support/worlds/histories.ts';
import { publicOperations, riderOperations, smallWorld, withKey } from '../../support/worlds/small-world.ts';

/** Which answer a request gets by its target, its method and its headers, without HTTP. Headers' names are in lower case. */

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
let checker: TokenChecker;
let fault: Error | null;
let answers: ReturnType<typeof calendar>;

beforeEach(() => {
  faults = [];
  gone = [];
  fault = null;
  checker = { check: (token) => (token === 'dead' ? null : token) };
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
  answers = calendar({
    baseUrl: 'https://rides.example/api',
    cache,
    calendarNowMs: () => smallWorld.nowMs,
    cacheSeconds: 60,
    checker: { check: (token) => checker.check(token) },
    openApi: Buffer.from('{"openapi":"3.1.0"}'),
    onFault: (cause) => faults.push(cause),
    riderGone: (rider) => gone.push(rider),
  });
});

const key = withKey()['X-Api-Key']!;

async function ask(path: string, headers: Record<string, string> = { 'x-api-key': key }, method = 'GET') {
  const handled = answers({ method, target: `/api${path}`, headers })!;
  const { status, headers: sent, body } = await handled.answer;
  return { operation: handled.operation, status, headers: sent, body: body?.toString() ?? null };
}
const bearer = (authorization: string) => ask(smallWorld.day, { authorization });

describe('a request', () => {
  it('for another path is nobody’s, and a target of over 8,000 bytes is refused whatever it names', async () => {
    expect(answers({ method: 'GET', target: '/api/other', headers: {} })).toBeNull();
    expect(answers({ method: 'GET', target: '/rides/loop', headers: {} })).toBeNull();
    const query = (length: number) =>
      `${smallWorld.ride}?${'x'.repeat(length - '/api?'.length - smallWorld.ride.length)}`;
    expect(await ask(query(8_000))).toMatchObject({ operation: 'getRide', status: 200 });
    expect(await ask(query(8_001))).toMatchObject({ operation: 'none', status: 414 });
  });

  it('is for GET and HEAD, and OPTIONS tells so', async () => {
    for (const method of ['GET', 'HEAD']) expect((await ask(smallWorld.ride, undefined, method)).status).toBe(200);
    expect(await ask(smallWorld.ride, {}, 'OPTIONS')).toMatchObject({
      ...{ operation: 'getRide', status: 204 },
      headers: { Allow: 'GET, HEAD, OPTIONS' },
    });
    for (const method of ['POST', 'get', 'DELETE']) {
      expect(await ask(smallWorld.ride, undefined, method)).toMatchObject({ operation: 'getRide', status: 405 });
    }
  });

  it('for the description needs no credential, and may be kept by everybody who asks again', async () => {
    const answer = await ask('/openapi.json', {});
    expect(answer).toMatchObject({ operation: 'getOpenApi', status: 200, body: '{"openapi":"3.1.0"}' });
    expect(answer.headers).toMatchObject({ 'Cache-Control': 'public, no-cache', Vary: 'Accept-Encoding' });
    const again = await ask('/openapi.json', { 'if-none-match': answer.headers.ETag! });
    expect([again.status, again.body]).toEqual([304, null]);
  });

  it('during a fault of the store is 503, and of ours 500, which is told', async () => {
    for (const { path } of [...publicOperations, ...riderOperations]) {
      const both = { 'x-api-key': key, authorization: 'Bearer ada' };
      fault = new StoreAwayError('away');
      expect([await ask(path, both), faults]).toMatchObject([{ status: 503, headers: { 'Retry-After': '1' } }, []]);
      fault = new Error('a bug');
      expect([(await ask(path, both)).status, faults.splice(0)]).toEqual([500, [fault]]);
      fault = null;
    }
    checker = {
      check() {
        throw new Error('another bug');
      },
    };
    expect([(await bearer('Bearer ada')).status, faults]).toEqual([500, [new Error('another bug')]]);
  });
});

describe('a public read', () => {
  it.each(['Bearer ada', 'bearer ada', 'BEARER   ada', 'Bearer ada  '])(
    'is opened by the token in %j',
    async (text) => {
      expect((await bearer(text)).status).toBe(200);
      checker = { check: async (token) => token };
      expect((await bearer(text)).status).toBe(200);
    },
  );

  it.each(['Bearer', 'Bearer ', 'ada', 'Basic ada', 'xBearer ada', 'Bearerada'])(
    'sees no token in %j',
    async (text) => {
      const { status, headers } = await bearer(text);
      expect([status, headers['WWW-Authenticate']]).toEqual([401, expect.not.stringContaining('invalid_token')]);
      expect(gone).toEqual([]);
    },
  );

  it('says of a token that is not live, or whose rider is gone, that it is not', async () => {
    for (const token of ['dead', 'eve']) {
      for (let again = 0; again < 2; again++) {
        const { status, headers } = await bearer(`Bearer ${token}`);
        expect([status, headers['WWW-Authenticate']]).toEqual([401, expect.stringContaining('invalid_token')]);
      }
    }
    expect(gone).toEqual(['eve', 'eve']);
  });

  it('is opened by either of two credentials, read or kept', async () => {
    const ways = [
      { 'x-api-key': key, authorization: 'Bearer eve' },
      { 'x-api-key': 'x', authorization: 'Bearer ada' },
    ];
    for (const headers of [...ways, ...ways]) expect((await ask(smallWorld.day, headers)).status).toBe(200);
    expect(gone).toEqual([]);
    expect((await ask(smallWorld.day, { 'x-api-key': latinKey })).status).toBe(200);
    expect((await ask(smallWorld.day, { 'x-api-key': 'x' })).status).toBe(401);
    expect(gone).toEqual([]);
    expect((await ask(smallWorld.day, {})).headers['WWW-Authenticate']).not.toContain('invalid_token');
  });

  it('counts the views that it found kept, and those that it had to read', async () => {
    const counts = async (path: string, headers?: Record<string, string>) => {
      const [hits, misses] = [cache.hits, cache.misses];
      await ask(path, headers);
      return [cache.hits - hits, cache.misses - misses];
    };
    expect(await counts(smallWorld.ride)).toEqual([0, 2]);
    expect(await counts(smallWorld.ride)).toEqual([2, 0]);
    // The metro is asked for with the day.
    expect(await counts(smallWorld.day)).toEqual([1, 2]);
    expect(await counts(smallWorld.day)).toEqual([2, 0]);
    expect(await counts(smallWorld.day, {})).toEqual([0, 0]);
    expect(await counts(smallWorld.day, { 'x-api-key': key, authorization: 'Bearer eve' })).toEqual([2, 0]);
    // A wrong input needs the key alone; what does not exist is never kept.
    expect(await counts('/rides/x')).toEqual([1, 0]);
    expect(await counts('/rides/unknown')).toEqual([1, 1]);
    expect(await counts('/rides/unknown')).toEqual([1, 1]);
  });

  it('is answered at once where all is kept', async () => {
    const at = (path: string) =>
      answers({ method: 'GET', target: `/api${path}`, headers: { 'x-api-key': key } })!.answer;
    expect(at(smallWorld.ride)).toBeInstanceOf(Promise);
    await at(smallWorld.ride);
    for (const path of [smallWorld.ride, '/rides/x']) expect(at(path)).not.toBeInstanceOf(Promise);
  });

  it('may not be kept where CACHE_SECONDS is 0, and needs nobody who hears of riders that are gone', async () => {
    const api = answering(memory.reader(), () => smallWorld.nowMs);
    for (const { path } of publicOperations) {
      const { status, headers } = await api.get(path, { 'x-api-key': key });
      expect([status, headers['Cache-Control']]).toEqual([200, 'private, no-cache']);
      expect((await api.get(path, { authorization: 'Bearer eve' })).status).toBe(401);
    }
    expect((await api.get('/me/nights', { authorization: 'Bearer eve' })).status).toBe(401);
  });
});

describe('a rider’s own read', () => {
  it.each(riderOperations)('$name needs a live token of a rider who exists', async ({ path }) => {
    const none = await ask(path);
    expect([none.status, none.body, none.headers['WWW-Authenticate']]).toEqual([
      ...[401, null],
      expect.not.stringContaining('invalid_token'),
    ]);
    for (const token of ['dead', 'eve']) {
      const { status, body, headers } = await ask(path, { authorization: `Bearer ${token}` });
      expect([status, body, headers['WWW-Authenticate']]).toEqual([
        401,
        null,
        expect.stringContaining('invalid_token'),
      ]);
    }
    expect(gone).toEqual(['eve']);
    const { status, headers } = await ask(path, { authorization: 'Bearer ada' });
    expect([status, headers['Cache-Control']]).toEqual([200, 'private, no-store']);
  });
});
