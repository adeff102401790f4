import fc from 'fast-check';
import { expect, test } from 'vitest';
import { OffsetSet } from '../../infra/offset-set.ts';

test('an offset is in the set once it was added, whatever the order and how often', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(200)), (added) => {
      const set = new OffsetSet();
      for (const offset of added) set.add(offset);
      const all = Array.from({ length: 201 }, (_, offset) => offset);
      expect(all.filter((offset) => set.has(offset))).toEqual(all.filter((offset) => added.includes(offset)));
    }),
  );
});

test('offsets larger than 32 bits are told apart', () => {
  const set = new OffsetSet();
  set.add(2 ** 40);
  expect([set.has(2 ** 40), set.has(2 ** 40 + 1), set.has(0)]).toEqual([true, false, false]);
});
