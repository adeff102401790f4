import { strictEqual } from 'node:assert/strict';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { LargeMap, LargeSet, NumberSet } from '../../../projector/facts/large-map.ts';

const keys = fc.array(fc.tuple(fc.constantFrom('set', 'delete'), fc.integer({ min: 0, max: 30 })), { maxLength: 80 });

it('a large map holds what a Map holds, and a large set what a Set holds, whatever the limit of each part is', () => {
  fc.assert(
    fc.property(keys, fc.integer({ min: 1, max: 8 }), (steps, limit) => {
      const map = new Map<number, number>();
      const large = new LargeMap<number, number>(limit);
      const wanted = new Set(steps.map(([, key]) => key));
      const set = new LargeSet<number>(limit);
      for (const [i, [step, key]] of steps.entries()) {
        set.add(key);
        if (step === 'set') {
          map.set(key, i);
          large.set(key, i);
        } else strictEqual(large.delete(key), map.delete(key));
        expect([large.get(key), large.has(key)]).toEqual([map.get(key), map.has(key)]);
      }
      expect([large.size, set.size]).toEqual([map.size, wanted.size]);
      expect(new Map(large)).toEqual(map);
      expect(new Set(large.keys())).toEqual(new Set(map.keys()));
      expect(new Set(set)).toEqual(wanted);
      for (let key = 0; key <= 30; key++) strictEqual(set.has(key), wanted.has(key));
    }),
  );
});

it('a set of numbers holds what a Set holds, as it grows', () => {
  const numbers = fc.oneof(fc.nat(20), fc.integer({ min: 8_180, max: 8_200 }), fc.nat(100_000));
  fc.assert(
    fc.property(fc.array(numbers), fc.array(numbers), (added, others) => {
      const set = new NumberSet();
      const wanted = new Set<number>();
      for (const number of added) {
        strictEqual(set.has(number), wanted.has(number));
        wanted.add(number);
        set.add(number);
      }
      for (const number of [...added, ...others]) strictEqual(set.has(number), wanted.has(number));
    }),
  );
});
