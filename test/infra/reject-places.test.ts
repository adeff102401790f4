import fc from 'fast-check';
import { expect, test } from 'vitest';
import { RejectPlaces } from '../../infra/reject-places.ts';

const place = (offset: number, timestampMs: number, partition = 0) => ({
  topic: 'rides' as const,
  partition,
  offset,
  timestampMs,
});

test('a place is known once it was added, whatever the order and how often', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(60), fc.nat(2), fc.nat(1))), (added) => {
      const places = new RejectPlaces();
      for (const one of added) places.add(place(...one));
      const all = Array.from({ length: 61 * 3 * 2 }, (_, i) => [i % 61, Math.floor(i / 61) % 3, i % 2] as const);
      const known = new Set(added.map(String));
      for (const one of all) expect([one, places.has(place(...one))]).toEqual([one, known.has(String(one))]);
    }),
  );
});

test('numbers larger than 32 bits are told apart, and topics', () => {
  const places = new RejectPlaces();
  places.add(place(2 ** 40, 2 ** 41));
  const asked = [place(2 ** 40, 2 ** 41), place(2 ** 40 + 1, 2 ** 41), place(2 ** 40, 2 ** 41 + 1), place(0, 0)];
  expect(asked.map((one) => places.has(one))).toEqual([true, false, false, false]);
  expect(places.has({ ...place(2 ** 40, 2 ** 41), topic: 'riders' })).toBe(false);
});
