import { expect, it } from 'vitest';
import { type FieldList, packFields } from '../../../../infra/redis/views/packed-fields.ts';
import { unpacked } from '../../../simulator/packed-texts.ts';

/** What a script makes of it, with the bytes of each text as text again. */
const unpackedTexts = (lists: readonly FieldList[]): string[][] =>
  unpacked(packFields(lists)).map((texts) => texts.map((text) => String(Buffer.from(text, 'latin1'))));

it('fields to set come with their values, and fields to remove without', () => {
  const lists = [
    {
      sets: true,
      fields: [
        { field: 'f1', value: 'a' },
        { field: 'f2', value: '' },
      ],
    },
    { sets: false, fields: [{ field: 'f3', value: null }] },
    { sets: true, fields: [] },
  ];
  expect(unpackedTexts(lists)).toEqual([['f1', 'a', 'f2', ''], ['f3'], []]);
});

it('short texts take one byte more than their letters', () => {
  const packed = packFields([{ sets: false, fields: [{ field: 'x'.repeat(31), value: null }] }]);
  expect(packed).toHaveLength(5 + 5 + 32);
});

it('what was packed before is not overwritten, and many fields find room', () => {
  const first = packFields([{ sets: true, fields: [{ field: 'f', value: 'a' }] }]);
  const many = Array.from({ length: 10_000 }, (_, i) => ({ field: `f${i}`, value: `v${i}` }));
  const texts = unpackedTexts([{ sets: true, fields: many }])[0]!;
  expect(texts.join()).toBe(many.map(({ field, value }) => `${field},${value}`).join());
  expect(unpacked(first)).toEqual([['f', 'a']]);
});

it.each(['a', 'ä', '\u007f', '\u0080', '日', '🚲'])('a text of any length, of %s, is unpacked as it was', (letter) => {
  for (const count of [0, 1, 30, 31, 32, 33, 70_000]) {
    const value = letter.repeat(count);
    expect(unpackedTexts([{ sets: true, fields: [{ field: 'f', value }] }])).toEqual([['f', value]]);
  }
});
