import { afterEach, expect, it, vi } from 'vitest';
import { redisKeys } from '../../../../infra/redis/redis-keys.ts';
import { OtherTypes } from '../../../../infra/redis/views/other-types.ts';
import { readerKey } from '../../../../schemas/views/reader-fields.ts';
import { developerKeyKey, rideKey, riderKey } from '../../../../schemas/views/view-kinds.ts';

afterEach(() => {
  vi.useRealTimers();
});

function scene() {
  const keys = redisKeys('app:', 3);
  const warned: string[] = [];
  const others = new OtherTypes(keys, { info() {}, warn: (line) => void warned.push(line), error() {} });
  return { keys, warned, found: (key: string) => others.found(keys.toRedis(key)) };
}

it('a key that another program wrote is named, but none that names a rider or a developer key', () => {
  const { keys, warned, found } = scene();
  for (const key of [rideKey('loop'), readerKey('ada'), riderKey('ada'), developerKeyKey('ada')]) found(key);
  expect(warned[0]).toContain(`wrote ${keys.toRedis(rideKey('loop'))} in Redis`);
  expect(warned.slice(1).map((line) => / a key of kind \w+/.exec(line)?.[0])).toEqual([
    ' a key of kind reader',
    ' a key of kind rider',
    ' a key of kind key',
  ]);
  expect(warned.slice(1).join()).not.toContain('ada');
});

it('each is named once, and at most twenty, in ten minutes', () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const { warned, found } = scene();
  const findAll = () => {
    for (let i = 0; i < 30; i++) found(rideKey(`ride${i % 25}`));
    return warned.splice(0).length;
  };
  found(rideKey('ride0'));
  found(rideKey('ride0'));
  expect(warned.splice(0)).toHaveLength(1);
  expect(findAll()).toBe(19);
  vi.advanceTimersByTime(600_000);
  expect(findAll()).toBe(0);
  vi.advanceTimersByTime(1);
  expect([findAll(), findAll()]).toEqual([20, 0]);
  vi.advanceTimersByTime(600_001);
  expect(findAll()).toBe(20);
});
