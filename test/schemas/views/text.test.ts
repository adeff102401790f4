import fc from 'fast-check';
import { expect, it } from 'vitest';
import { compareNights, type NightOrder, orderInDay } from '../../../schemas/views/order-of-nights.ts';
import { compareText, foldText } from '../../../schemas/views/text.ts';
import { compareText as byCodePoint, fold } from '../../reference/text.ts';

// docs/rules.md#comparing-text
it('texts are in the order of their code points: a bicycle comes after a fullwidth tilde', () => {
  expect(['🚲', '～', 'z', ''].sort(compareText)).toEqual(['', 'z', '～', '🚲']);
  const text = fc.array(fc.constantFrom('a', 'b', '\ud7ff', '\ue000', '\uffff', '🚲', '😀', 'é'), { maxLength: 6 });
  fc.assert(
    fc.property(text, text, (a, b) => {
      expect(Math.sign(compareText(a.join(''), b.join('')))).toBe(Math.sign(byCodePoint(a.join(''), b.join(''))));
    }),
  );
});

const someText = fc
  .array(fc.constantFrom('\0', '\x01', '\x02', 'a', 'b', '\ud7ff', '\ue000', '\uffff', '🚲', '😀'), { maxLength: 4 })
  .map((characters) => characters.join(''));
const signOf = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

// docs/rules.md#order-of-nights
it('nights of one day are in the same order by their order text', () => {
  const time = fc.option(fc.constantFrom(0, 9, 10, 99, 100, 999, 1_000, 1_439));
  const sort: fc.Arbitrary<NightOrder['sort']> = fc.tuple(time, someText, fc.constantFrom('aaaa', 'aaab', 'zzzz'));
  fc.assert(
    fc.property(sort, sort, (a, b) => {
      const wanted = compareNights({ day: 1, sort: a }, { day: 1, sort: b });
      expect(signOf(orderInDay(a), orderInDay(b))).toBe(Math.sign(wanted));
    }),
    { numRuns: 2_000 },
  );
});

// docs/rules.md#folded-text
it('every character is folded as the reference folds it, between letters and beside each other', () => {
  for (let block = 0; block < 0x110000; block += 0x100) {
    if (block >= 0xd800 && block < 0xe000) continue;
    const characters = Array.from({ length: 0x100 }, (_, i) => String.fromCodePoint(block + i));
    const texts = [characters.join(''), characters.join('x')];
    expect(texts.map(foldText)).toEqual(texts.map(fold));
  }
  // Text of ASCII alone goes a shorter way.
  const ascii = String.fromCharCode(...Array(0x80).keys()).repeat(2);
  expect(foldText(ascii)).toBe(fold(ascii));
});
