import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LargeMap, LargeSet, NumberSet } from '../../../projector/facts/large-map.ts';

const keys = fc.array(fc.tuple(fc.constantFrom('set', 'delete'), fc.integer({ min: 0, max: 30 })), { maxLength: 80 });

describe('a large map', () => {
  it('holds what a Map holds, whatever a Map’s limit is', () => {
    fc.assert(
      fc.property(keys, fc.integer({ min: 1, max: 8 }), (steps, limit) => {
        const map = new Map<number, number>();
        const large = new LargeMap<number, number>(limit);
        for (const [i, [step, key]] of steps.entries()) {
          if (step === 'set') {
            map.set(key, i);
            large.set(key, i);
          } else expect(large.delete(key)).toBe(map.delete(key));
          expect([large.get(key), large.has(key)]).toEqual([map.get(key), map.has(key)]);
        }
        expect(large.size).toBe(map.size);
        expect(new Map(large)).toEqual(map);
        expect(new Set(large.keys())).toEqual(new Set(map.keys()));
      }),
    );
  });
});

describe('a large set', () => {
  it('holds what a Set holds, whatever a Set’s limit is', () => {
    fc.assert(
      fc.property(keys, fc.integer({ min: 1, max: 8 }), (steps, limit) => {
        const wanted = new Set(steps.map(([, key]) => key));
        const large = new LargeSet<number>(limit);
        for (const [, key] of steps) large.add(key);
        expect(large.size).toBe(wanted.size);
        expect(new Set(large)).toEqual(wanted);
        for (let key = 0; key <= 30; key++) expect(large.has(key)).toBe(wanted.has(key));
      }),
    );
  });
});

describe('a set of numbers', () => {
  it('holds what a Set holds, as it grows', () => {
    const numbers = fc.oneof(fc.nat(20), fc.integer({ min: 8_180, max: 8_200 }), fc.nat(100_000));
    fc.assert(
      fc.property(fc.array(numbers), fc.array(numbers), (added, others) => {
        const set = new NumberSet();
        const wanted = new Set<number>();
        for (const number of added) {
          expect(set.has(number)).toBe(wanted.has(number));
          wanted.add(number);
          set.add(number);
        }
        for (const number of [...added, ...others]) expect(set.has(number)).toBe(wanted.has(number));
      }),
    );
  });
});
