import fc from 'fast-check';
import { expect, test } from 'vitest';
import { foreignText, inLines, inOneLine } from '../../../projector/running/foreign-text.ts';

test.each([
  ['Full moon, 20:00 · Zoë’s 🚲', 'Full moon, 20:00 · Zoë’s 🚲'],
  ['', ''],
  ['a "b" \\n', '"a \\"b\\" \\\\n"'],
  ['x\u001b]0;owned\u0007', '"x\\u001b]0;owned\\u0007"'],
  ['one\nAs saved: 9 records\ttwo', '"one\\nAs saved: 9 records\\ttwo"'],
  ['\u007f\u009b31m\u2028\u202etxt\u2069', '"\\u007f\\u009b31m\\u2028\\u202etxt\\u2069"'],
])('%j is shown as %s', (text, shown) => {
  expect(foreignText(text)).toBe(shown);
  if (shown.startsWith('"')) expect(JSON.parse(shown)).toBe(text);
});

test('whatever a text holds, it is one line that a terminal only shows; JSON stays JSON', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.json(), (text, json) => {
      for (const shown of [foreignText(text), inOneLine(text), inLines(text).replaceAll('\n', '')])
        expect(shown).not.toMatch(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u);
      const value = { text, json };
      expect(JSON.parse(inOneLine(JSON.stringify(value)))).toEqual(value);
    }),
  );
});
