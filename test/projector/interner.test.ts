import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Interner } from '../../projector/interner.ts';

describe('an interner', () => {
  it('gives each text one number, in order of arrival, also where one map is full', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ maxLength: 3 })), fc.integer({ min: 1, max: 5 }), (texts, entriesMax) => {
        const interner = new Interner(entriesMax);
        const distinct = [...new Set(texts)];
        for (const text of texts) expect(interner.add(text)).toBe(distinct.indexOf(text));
        expect(interner.size).toBe(distinct.length);
        for (const [i, text] of distinct.entries()) {
          expect(interner.find(text)).toBe(i);
          expect(interner.text(i)).toBe(text);
        }
      }),
    );
  });

  it('finds nothing for a text it never saw', () => {
    const interner = new Interner();
    interner.add('a');
    expect(interner.find('b')).toBe(-1);
  });
});
