import fc from 'fast-check';
import { expect, it } from 'vitest';
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

// docs/rules.md#folded-text
it('every character is folded as the reference folds it, between letters and beside each other', () => {
  for (let block = 0; block < 0x110000; block += 0x100) {
    if (block >= 0xd800 && block < 0xe000) continue;
    const characters = Array.from({ length: 0x100 }, (_, i) => String.fromCodePoint(block + i));
    const texts = [characters.join(''), characters.join('x')];
    expect(texts.map(foldText)).toEqual(texts.map(fold));
  }
});
