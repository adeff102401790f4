import { deepStrictEqual, strictEqual } from 'node:assert/strict';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Interner } from '../../../projector/facts/interner.ts';
import { LargeMap, LargeSet, NumberSet } from '../../../projector/facts/large-map.ts';
import { tagOf } from '../../../schemas/views/view-keys.ts';

function holdsWhatAMapHolds(texts: readonly string[]): void {
  const interner = new Interner();
  const model = new Map<string, number>();
  for (const text of texts) {
    if (!model.has(text)) {
      strictEqual(interner.find(text), -1);
      model.set(text, model.size);
    }
    strictEqual(interner.add(text), model.get(text));
  }
  deepStrictEqual([...interner.numbers()], [...model.values()]);
  for (const [text, number] of model) {
    strictEqual(interner.find(text), number);
    strictEqual(interner.text(number), text);
    strictEqual(interner.tag(number), tagOf(text));
  }
}

describe('an interner', () => {
  it('gives each text one number, in order of arrival, and knows its tag', () => {
    fc.assert(fc.property(fc.array(fc.string({ maxLength: 3, unit: 'binary' })), holdsWhatAMapHolds));
  });

  it('does so with long texts, as it grows, and for two texts that have one hash', () => {
    const long = ['a', 'é', '🚲'].flatMap((letter) => [85, 86, 1_000, 3_000].map((count) => letter.repeat(count)));
    holdsWhatAMapHolds(long);
    holdsWhatAMapHolds(long.toReversed());
    holdsWhatAMapHolds(['41e7637e', '32e7b56f']);
    holdsWhatAMapHolds(Array.from({ length: 5_000 }, (_, i) => `rider${(i * 7) % 4_001}`));
  });

  it('finds texts in bytes, wherever they stand there', () => {
    const interner = new Interner();
    const bytes = Buffer.from('loop/2015-06-13/ada');
    const added = [interner.findBytes(bytes, 0, 4), interner.addBytes(bytes, 0, 4), interner.addBytes(bytes, 16, 19)];
    expect([...added, interner.findBytes(bytes, 16, 19)]).toEqual([-1, 0, 1, 1]);
    expect(['ada', 'loop', 'ad', 'loo'].map((text) => interner.find(text))).toEqual([1, 0, -1, -1]);
    expect([interner.text(0), interner.text(1)]).toEqual(['loop', 'ada']);
  });
});

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
