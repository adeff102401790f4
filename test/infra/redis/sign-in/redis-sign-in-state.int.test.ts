import { createServer } from 'node:net';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { StoreAwayError } from '../../../../api/ports/view-reader.ts';
import { startRedisServer } from '../../../../infra/local/redis-server.ts';
import { redisSignInState } from '../../../../infra/redis/sign-in/redis-sign-in-state.ts';
import { freshKeyPrefix, redisUrl } from '../../../support/servers/backends.ts';
import { listening } from '../../../support/servers/listening.ts';
import { signInScriptCases } from './sign-in-script-cases.ts';

const rule = { graceMs: 60_000, max: 3 };

// docs/rules.md#sign-in-state
test('a Redis that is restarted keeps entries, uses and indexes; it is said to be away, and gets no command that was refused then', async () => {
  const server = await startRedisServer({ persistence: 'aof' });
  const errors: Error[] = [];
  const onError = (error: Error) => errors.push(error);
  const patient = redisSignInState({ url: server.url, commandTimeoutMs: 10_000 });
  const store = redisSignInState({ url: server.url, commandTimeoutMs: 1_000, onError });
  await store.put('Grant', 'g', { n: 1 }, { lifeSeconds: 60, account: 'rider-1' });
  for (const id of ['t', 'late']) await store.put('Token', id, { n: 2 }, { lifeSeconds: 60 });
  await store.use('Token', 't', rule);
  await server.kill();
  const found = patient.find('Token', 't');
  // The loss is noticed while the first waits, and is as old as the limit before the third.
  for (let n = 0; n < 3; n++) await expect(store.find('Token', 'late')).rejects.toThrow(StoreAwayError);
  await expect(store.use('Token', 'late', rule)).rejects.toThrow(StoreAwayError);
  expect(errors).toHaveLength(1);
  await server.start();
  expect(await found).toEqual({ n: 2 });
  await expect.poll(() => store.find('Token', 'late').catch(() => null)).toEqual({ n: 2 });
  expect(await store.use('Token', 'late', rule)).toEqual({ was: 'first' });
  expect(await store.use('Token', 't', rule)).toEqual({ was: 'again' });
  expect(await store.ofAccount('rider-1')).toEqual([{ kind: 'Grant', id: 'g', payload: { n: 1 } }]);
  // It is told of anew once it was there meanwhile.
  await server.kill();
  await expect(store.find('Token', 'late')).rejects.toThrow(StoreAwayError);
  expect(errors).toHaveLength(2);
  await Promise.all([patient.close(), store.close()]);
  await server.stop();
});

test('a Redis that owes a reply is asked over another connection', async () => {
  let connections = 0;
  using silent = await listening(createServer(() => void connections++));
  const store = redisSignInState({ url: `redis://127.0.0.1:${silent.port}` });
  await expect.poll(() => connections).toBeGreaterThan(1);
  await store.close();
});

test('all accounts are listed, however many there are', async () => {
  const store = redisSignInState({ url: redisUrl(), keyPrefix: freshKeyPrefix() });
  const accounts = Array.from({ length: 500 }, (_, i) => `rider-${i}`);
  await Promise.all(accounts.map((account) => store.put('Grant', account, {}, { lifeSeconds: 60, account })));
  expect(new Set(await Array.fromAsync(store.accounts()))).toEqual(new Set(accounts));
  await store.close();
});

test('what a restart would lose is told: the latest, all, or some, and nothing with an append-only file', async () => {
  const server = await startRedisServer();
  const admin = new Redis(server.url);
  const store = redisSignInState({ url: server.url });
  for (const [appendonly, save, policy, risk] of [
    ['no', '60 1', 'noeviction', expect.stringMatching(/keeps snapshots at most: .*; set appendonly yes$/)],
    ['no', '', 'noeviction', expect.stringMatching(/no persistence: .*; set appendonly yes$/)],
    ['yes', '', 'noeviction', null],
    ['yes', '', 'allkeys-lru', expect.stringMatching(/maxmemory-policy allkeys-lru.*; set noeviction$/)],
  ] as const) {
    await admin.config('SET', 'appendonly', appendonly, 'save', save, 'maxmemory-policy', policy);
    expect(await store.risk()).toEqual(risk);
  }
  await store.close();
  admin.disconnect();
  await server.stop();
});

signInScriptCases();
