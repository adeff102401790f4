import { describe, expect, it } from 'vitest';
import { packNames, packSet } from '../../../infra/redis/packed-fields.ts';
import { unpacked } from '../../support/packed-texts.ts';

const texts = ['', 'a', 'o2015-06-13', 'x'.repeat(31), 'x'.repeat(32), 'ride:é=1', '🚲'.repeat(9), 'y'.repeat(65_535)];
const long = 'ride:rider=1,'.repeat(20_000);

describe('packed fields', () => {
  it.each([...texts, long].map((text) => [text.length, text]))('hold a text of %i units as it is', (_, text) => {
    expect(unpacked(packSet([{ field: text, value: text }]))).toEqual([text, text]);
    expect(unpacked(packNames([{ field: text, value: null }]))).toEqual([text]);
  });

  it('hold fields with their values, in order', () => {
    const fields = texts.map((value, i) => ({ field: `f${i}`, value }));
    expect(unpacked(packSet(fields))).toEqual(fields.flatMap(({ field, value }) => [field, value]));
  });

  it('keep their bytes when others are packed', () => {
    const first = packSet([{ field: 'f', value: 'first' }]);
    packSet([{ field: 'g', value: 'second' }]);
    expect(unpacked(first)).toEqual(['f', 'first']);
  });
});
