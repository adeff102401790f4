import fc from 'fast-check';
import { expect, it } from 'vitest';
import { compareText } from '../../../schemas/views/text.ts';
import { compareText as byCodePoint } from '../../reference/text.ts';

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
