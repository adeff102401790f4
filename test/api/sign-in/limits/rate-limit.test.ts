import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { type RateLimit, rateLimit } from '../../../../api/sign-in/limits/rate-limit.ts';
import { memorySignInState } from '../../../../infra/memory/memory-sign-in-state.ts';

/** How many of so many hits are let through. */
async function passed(limit: RateLimit, hits: number, address: (i: number) => string, client?: string) {
  let count = 0;
  for (let i = 0; i < hits; i++) if ((await limit.hit(address(i), client)) === null) count++;
  return count;
}

test('a limit counts the addresses of one IPv6 network together', async () => {
  const store = memorySignInState();
  const limit = rateLimit(store, 'test', { max: 2, windowSeconds: 60 });
  expect(await limit.hit('2001:db8::1')).toBeNull();
  expect(await limit.hit('2001:db8:0:2::1')).toBeNull();
  expect(await limit.hit('2001:db8:0:3::1')).toBe(60);
  expect(await limit.hit('2001:db8:1::1')).toBeNull();
  await store.close();
});

test('a limit for all together counts what was let through, so one network can’t use it up', async () => {
  const store = memorySignInState();
  const limit = rateLimit(store, 'test', { max: 10, allMax: 50, windowSeconds: 60 });
  expect(await passed(limit, 1000, () => '192.0.2.1')).toBe(10);
  expect(await passed(limit, 1000, (i) => `2001:db8:0:${(i % 256).toString(16)}::1`)).toBe(10);
  expect(await passed(limit, 1000, (i) => `198.51.100.${i % 250}`)).toBe(30);
  expect(await limit.full('203.0.113.1')).toBe(60);
  await store.close();
});

test('a limit by client counts each client of an address by itself, and all of the address together', async () => {
  const store = memorySignInState();
  const limit = rateLimit(store, 'test', { clientMax: 5, max: 12, windowSeconds: 60 });
  const from = () => '192.0.2.1';
  expect(await passed(limit, 100, from, 'one')).toBe(5);
  expect([await limit.full('192.0.2.1', 'one'), await limit.full('192.0.2.1', 'two')]).toEqual([60, null]);
  expect(await passed(limit, 100, from, 'two')).toBe(5);
  expect(await passed(limit, 100, from, 'three')).toBe(2);
  expect(await limit.full('192.0.2.2', 'one')).toBeNull();
  await store.close();
});

test('a limit says in how many seconds the next request may pass, and then it does', async () => {
  const store = memorySignInState();
  const limit = rateLimit(store, 'test', { max: 2, windowSeconds: 1 });
  for (let i = 0; i < 2; i++) expect(await limit.hit('192.0.2.1')).toBeNull();
  expect([await limit.full('192.0.2.1'), await limit.hit('192.0.2.1')]).toEqual([1, 1]);
  await sleep(1005);
  expect([await limit.full('192.0.2.1'), await limit.hit('192.0.2.1')]).toEqual([null, null]);
  await store.close();
});
