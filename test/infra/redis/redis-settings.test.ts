import { expect, it } from 'vitest';
import { addressesOf, credentialsOf, reconnectDelayMs } from '../../../infra/redis/redis-settings.ts';

it('a URL names its user and password as they were before they were encoded', () => {
  expect(credentialsOf(new URL('redis://r%40der:ty%2Fre@host'))).toEqual({ username: 'r@der', password: 'ty/re' });
  expect(credentialsOf(new URL('redis://:ty%2Fre@host'))).toEqual({ password: 'ty/re' });
  expect(credentialsOf(new URL('redis://host'))).toEqual({});
});

it('a cluster has several addresses', () => {
  expect(addressesOf('redis://a,redis://b:7001')).toEqual(['redis://a', 'redis://b:7001']);
});

it('a connection is tried again soon, and each second in the end', () => {
  expect([0, 1, 4, 5, 2_000].map(reconnectDelayMs)).toEqual([50, 100, 800, 1_000, 1_000]);
});
