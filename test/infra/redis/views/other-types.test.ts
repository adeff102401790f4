import { expect, it } from 'vitest';
import { redisKeys } from '../../../../infra/redis/redis-keys.ts';
import { OtherTypes } from '../../../../infra/redis/views/other-types.ts';
import { readerKey } from '../../../../schemas/views/reader-fields.ts';
import { developerKeyKey, rideKey, riderKey } from '../../../../schemas/views/view-kinds.ts';

function scene() {
  const keys = redisKeys('app:', 3);
  const warned: string[] = [];
  const others = new OtherTypes(keys, { info() {}, warn: (line) => void warned.push(line), error() {} });
  return { keys, warned, found: (key: string, nowMs = 0) => others.found(keys.toRedis(key), nowMs) };
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
  const { warned, found } = scene();
  const findAll = (nowMs: number) => {
    for (let i = 0; i < 30; i++) found(rideKey(`ride${i % 25}`), nowMs);
    return warned.splice(0).length;
  };
  found(rideKey('ride0'));
  found(rideKey('ride0'));
  expect(warned.splice(0)).toHaveLength(1);
  expect([0, 600_000, 600_001, 600_002, 1_200_001, 1_200_002].map(findAll)).toEqual([19, 0, 20, 0, 0, 20]);
});
