import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareText } from '../../../schemas/views/text.ts';

const byCodePoint = (a: string, b: string): number => {
  const x = [...a].map((c) => c.codePointAt(0)!);
  const y = [...b].map((c) => c.codePointAt(0)!);
  for (let i = 0; i < Math.min(x.length, y.length); i++) if (x[i] !== y[i]) return x[i]! - y[i]!;
  return x.length - y.length;
};

// docs/rules.md#comparing-text
describe('order of texts', () => {
  it('is by code point: a bicycle comes after a fullwidth tilde', () => {
    expect(compareText('～', '🚲')).toBeLessThan(0);
    expect(['🚲', '～', 'z', ''].sort(compareText)).toEqual(['', 'z', '～', '🚲']);
  });

  it('is that of the code points one by one, for any two texts', () => {
    const text = fc.array(fc.constantFrom('a', 'b', '\ud7ff', '\ue000', '\uffff', '🚲', '😀', 'é'), { maxLength: 6 });
    fc.assert(
      fc.property(text, text, (a, b) => {
        expect(Math.sign(compareText(a.join(''), b.join('')))).toBe(Math.sign(byCodePoint(a.join(''), b.join(''))));
      }),
    );
  });
});
