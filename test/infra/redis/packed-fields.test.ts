import { describe, expect, it } from 'vitest';
import { packFields } from '../../../infra/redis/packed-fields.ts';
import { unpacked } from '../../support/packed-texts.ts';

const texts = ['', 'a', 'o2015-06-13', 'x'.repeat(31), 'x'.repeat(32), 'ride:é=1', '🚲'.repeat(9), 'y'.repeat(65_535)];
const long = 'ride:rider=1,'.repeat(20_000);

describe('packed fields', () => {
  it.each([...texts, long].map((text) => [text.length, text]))('hold a text of %i units as it is', (_, text) => {
    const lists = [
      { sets: true, fields: [{ field: text, value: text }] },
      { sets: false, fields: [{ field: text, value: null }] },
    ];
    expect(unpacked(packFields(lists))).toEqual([[text, text], [text]]);
  });

  it('hold fields with their values, in order', () => {
    const fields = texts.map((value, i) => ({ field: `f${i}`, value }));
    expect(unpacked(packFields([{ sets: true, fields }]))).toEqual([
      fields.flatMap(({ field, value }) => [field, value]),
    ]);
  });

  it('hold many lists in order, empty ones too', () => {
    const lists = Array.from({ length: 20_000 }, (_, i) => ({
      sets: i % 2 === 0,
      fields: Array.from({ length: i % 3 }, (__, k) => ({ field: `f${i}-${k}`, value: String(i) })),
    }));
    expect(unpacked(packFields(lists))).toEqual(
      lists.map(({ sets, fields }) => fields.flatMap(({ field, value }) => (sets ? [field, value] : [field]))),
    );
  });

  it('keep their bytes when others are packed', () => {
    const first = packFields([{ sets: true, fields: [{ field: 'f', value: 'first' }] }]);
    packFields([{ sets: true, fields: [{ field: 'g', value: 'second' }] }]);
    expect(unpacked(first)).toEqual([['f', 'first']]);
  });
});
