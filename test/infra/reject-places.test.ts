import { expect, test } from 'vitest';
import { placesMax, RejectPlaces } from '../../infra/reject-places.ts';

const reject = (offset: number, timestampMs: number, topic: 'rides' | 'riders' = 'rides', partition = 0) => {
  return { topic, partition, offset, timestampMs, reason: 'x', raw: { key: null, value: null, headers: {} } };
};

// docs/rules.md#rejected-once
test('a place is known by topic, partition, offset and time, and an unknown one is asked for once', () => {
  const places = new RejectPlaces();
  places.add(reject(2 ** 40, 5));
  const elsewhere = [reject(2 ** 40, 5, 'riders'), reject(2 ** 40, 5, 'rides', 1)];
  const others = [reject(2 ** 40 + 1, 5), reject(2 ** 40, 6), ...elsewhere];
  expect(places.unknown([reject(2 ** 40, 5), ...others, ...others])).toEqual(others);
});

test('the oldest places are forgotten, beyond four million, so that a flood of bad records does not fill the memory', () => {
  expect(placesMax).toBe(4_000_000);
  const places = new RejectPlaces(2);
  for (const offset of [1, 2, 2, 3]) places.add(reject(offset, 0));
  expect(places.unknown([1, 2, 3].map((offset) => reject(offset, 0)))).toEqual([reject(1, 0)]);
});
