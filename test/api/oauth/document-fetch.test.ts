import { expect, test } from 'vitest';
import { type DocumentFetchOptions, documentFetch, TooManyFetchesError } from '../../../api/oauth/document-fetch.ts';
import { rateLimits } from '../../../api/oauth/rate-limit.ts';
import { memoryAuthState } from '../../../infra/memory/auth-state-memory.ts';

const id = 'https://client.example/client.json';
const day = 86_400_000;
const minute = 60_000;

/** A host of documents whose answers the test sets; null: it can't be reached. */
function host(more: Partial<DocumentFetchOptions> = {}) {
  const clock = { nowMs: 0 };
  const nowMs = () => clock.nowMs;
  const seen = { fetched: 0, from: '192.0.2.1' };
  let answer: (url: string) => Promise<Response | null> | Response | null = () =>
    Response.json({ client_id: id, client_name: 'App' });
  const store = more.store ?? memoryAuthState({ nowMs });
  const fetching = documentFetch({
    fetchPublic: async (url) => {
      seen.fetched++;
      const response = await answer(String(url));
      if (response === null) throw new TypeError('unreachable');
      return response;
    },
    store,
    limits: rateLimits(memoryAuthState({ nowMs })),
    clientAddress: () => seen.from,
    nowMs,
    ...more,
  });
  const read = async (url = id) => {
    const response = await fetching(url);
    return response.ok ? ((await response.json()) as Record<string, unknown>).client_name : response.status;
  };
  const answers = (next: typeof answer): void => {
    answer = next;
  };
  return { clock, seen, store, read, answers };
}

test('a document that can’t be had for a while is stood in for by the last one, for a day', async () => {
  const { clock, read, answers } = host();
  expect(await read()).toBe('App');
  answers(() => null);
  clock.nowMs = day - minute - 1;
  expect(await read()).toBe('App');
  answers(() => new Response(null, { status: 503 }));
  clock.nowMs = day - 1;
  expect(await read()).toBe('App');
  clock.nowMs = day + minute;
  expect(await read()).toBe(503);
  answers(() => null);
  clock.nowMs += minute;
  await expect(read()).rejects.toThrow('unreachable');
});

test('a document that was taken away is not stood in for, nor one that was never there', async () => {
  const { clock, read, answers } = host();
  expect(await read()).toBe('App');
  clock.nowMs = minute;
  answers(() => new Response(null, { status: 404 }));
  expect(await read()).toBe(404);
  clock.nowMs = 2 * minute;
  answers(() => null);
  await expect(read()).rejects.toThrow('unreachable');
  const other = host();
  other.answers(() => null);
  await expect(other.read()).rejects.toThrow('unreachable');
});

test.each([
  ['no JSON', '{', 'application/json'],
  ['another type', '{}', 'text/plain'],
])('a document that is wrong now is not stood in for: %s', async (_, body, type) => {
  const { clock, read, answers } = host();
  expect(await read()).toBe('App');
  clock.nowMs = minute;
  answers(() => new Response(body, { headers: { 'content-type': type } }));
  await expect(read()).rejects.toThrow('the document is wrong');
  await expect(read()).rejects.toThrow('a moment ago');
});

test.each([
  ['can’t be reached', () => null],
  ['is not there', () => new Response(null, { status: 404 })],
  ['has a fault', () => new Response(null, { status: 500 })],
  ['is wrong', () => new Response('[]', { headers: { 'content-type': 'application/json' } })],
])('a document that %s is asked for once a minute, however often it is wanted', async (_, answer) => {
  const { clock, seen, read, answers } = host();
  answers(answer);
  for (let i = 0; i < 300; i++) await read().catch(() => undefined);
  expect(seen.fetched).toBe(1);
  clock.nowMs = minute;
  for (let i = 0; i < 300; i++) await read().catch(() => undefined);
  expect(seen.fetched).toBe(2);
  answers(() => Response.json({ client_id: id, client_name: 'App' }));
  clock.nowMs = 2 * minute;
  expect(await read()).toBe('App');
});

test('a document that can’t be had at one instance is not asked for at another', async () => {
  const one = host();
  const two = host({ store: one.store });
  const [away, gone] = ['https://away.example/c.json', 'https://gone.example/c.json'];
  for (const { answers } of [one, two])
    answers((url) => (url === away ? null : url === gone ? new Response(null, { status: 404 }) : Response.json({})));
  await expect(one.read(away)).rejects.toThrow('unreachable');
  expect(await one.read(gone)).toBe(404);
  await expect(two.read(away)).rejects.toThrow('a moment ago');
  expect(await two.read(gone)).toBe(404);
  expect(two.seen.fetched).toBe(0);
});

test('a document is fetched once by many who want it at a time, and not again within half a minute', async () => {
  const { clock, seen, read, answers } = host();
  const { promise, resolve } = Promise.withResolvers<Response>();
  answers(() => promise);
  const reading = Array.from({ length: 50 }, () => read());
  resolve(Response.json({ client_id: id, client_name: 'App' }));
  expect(new Set(await Promise.all(reading))).toEqual(new Set(['App']));
  clock.nowMs = 29_999;
  await read();
  expect(seen.fetched).toBe(1);
  clock.nowMs = 30_000;
  answers(() => Response.json({ client_id: id, client_name: 'New app' }));
  expect(await read()).toBe('New app');
});

test('fetches are limited by the address that asks, by host, by document and in all', async () => {
  const { seen, read } = host();
  const many = async (count: number, url: (i: number) => string, from: (i: number) => string) => {
    const before = seen.fetched;
    for (let i = 0; i < count; i++) {
      seen.from = from(i);
      await read(url(i)).catch((error: unknown) => expect(error).toBeInstanceOf(TooManyFetchesError));
    }
    return seen.fetched - before;
  };
  const address = (i: number) => `198.51.${i >> 8}.${i & 255}`;
  expect(
    await many(
      100,
      (i) => `https://app-${i}.example/`,
      () => '192.0.2.1',
    ),
  ).toBe(60);
  expect(await many(100, (i) => `https://host.example:${1000 + i}/${i}`, address)).toBe(60);
  expect(await many(2000, (i) => `https://all-${i}.example/`, address)).toBe(480);
});

test('documents whose hosts never answer take four places at a time, however many one address names', async () => {
  const { read, answers, seen } = host();
  const { promise, resolve } = Promise.withResolvers<void>();
  answers(async (url) => {
    if (url.includes('silent')) await promise;
    return Response.json({ client_name: url.includes('silent') ? 'Slow' : 'App' });
  });
  // One IPv6 /64 is one address.
  const stuck = Array.from({ length: 16 }, (_, i) => {
    seen.from = `2001:db8::${i}`;
    return read(`https://silent-${i}.example/c.json`).catch((error: unknown) => error);
  });
  await expect.poll(() => seen.fetched).toBe(4);
  seen.from = '192.0.2.7';
  expect(await read('https://other.example/c.json')).toBe('App');
  resolve();
  const ended = await Promise.all(stuck);
  expect(ended.filter((each) => each === 'Slow')).toHaveLength(4);
  expect(ended.filter((each) => each instanceof TooManyFetchesError)).toHaveLength(12);
  seen.from = '2001:db8::1';
  expect(await read('https://silent-9.example/c.json')).toBe('Slow');
});

test('a document that is known stands in where a limit keeps it from being fetched, and counts as no failure', async () => {
  const { clock, read, answers, seen } = host();
  expect(await read()).toBe('App');
  clock.nowMs = minute;
  answers(() => {
    throw new TooManyFetchesError('too many at a time');
  });
  expect(await read()).toBe('App');
  answers(() => Response.json({ client_id: id, client_name: 'New app' }));
  expect(await read()).toBe('New app');
  expect(seen.fetched).toBe(3);
});

test('a client id of more than 1,000 characters is not fetched', async () => {
  const { seen, read } = host();
  await expect(read(`https://app.example/${'x'.repeat(1000)}`)).rejects.toThrow('more than 1000 characters');
  expect(seen.fetched).toBe(0);
});
