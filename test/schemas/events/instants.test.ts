import { expect, test } from 'vitest';
import { clampedMs, longOf } from '../../../schemas/events/instants.ts';

// docs/rules.md#timestamps
test('a time is compared within years 0001 to 9999, and one of 64 bits is a number where that is exact', () => {
  const [first, last] = ['0001-01-01T00:00:00.000Z', '9999-12-31T23:59:59.999Z'].map(Date.parse) as [number, number];
  const times = [-(2n ** 63n), first - 1, first, 5n, last, last + 1, 2n ** 63n - 1n];
  expect(times.map(clampedMs)).toEqual([first, first, first, 5, last, last, last]);
  const edge = 2n ** 53n;
  expect([1n - edge, -edge, edge - 1n, edge].map(longOf)).toEqual([1 - 2 ** 53, -edge, 2 ** 53 - 1, edge]);
});
