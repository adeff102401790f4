import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ByteMap } from '../../../schemas/views/byte-map.ts';

const stop = 61;

/** The values of texts that each end with `=`, by what the map made for each. */
function valuesOf(map: ByteMap<string>, keys: readonly (readonly [text: string, day: number])[]): string[] {
  const bytes = Buffer.from(keys.map(([text]) => `${text}=`).join(''));
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  let at = 0;
  return keys.map(([, day]) => {
    const value = map.valueAt(view, at, stop, day);
    at = map.end + 1;
    return value;
  });
}

it('has one value for each text and day, of any length, also where texts begin or end alike', () => {
  const text = fc.oneof(
    fc.stringMatching(/^[A-Za-z0-9_-]{0,64}$/),
    fc.constantFrom('a', 'ab', 'abcd', 'abcde', 'bbcde', 'abcdefgh', 'abcdefgi'),
  );
  const keys = fc.array(fc.tuple(text, fc.integer({ min: -2, max: 2 })), { maxLength: 40 });
  fc.assert(
    fc.property(keys, (asked) => {
      let made = 0;
      const map = new ByteMap((id, day) => `${id} ${day} ${made++}`);
      const values = valuesOf(map, asked);
      const names = asked.map(([id, day]) => `${id} ${day} `);
      expect(values.map((value, i) => value.startsWith(names[i]!))).toEqual(asked.map(() => true));
      expect(made).toBe(new Set(names).size);
      expect(valuesOf(map, asked)).toEqual(values);
    }),
  );
});

it('has a value for each of very many, and forgets them when it is told to', () => {
  let made = 0;
  const map = new ByteMap((id) => `${id} ${made++}`);
  // So many that hashes of some are the same.
  const many = Array.from({ length: 200_000 }, (_, i) => [`rider-${i}-of-many`, 0] as const);
  const few = many.slice(0, 5);
  const [first] = valuesOf(map, few);
  map.trim();
  expect(valuesOf(map, many)[0]).toBe(first);
  expect(valuesOf(map, many)[0]).toBe(first);
  expect(made).toBe(many.length);
  map.trim();
  expect(valuesOf(map, few)[0]).toBe(`rider-0-of-many ${many.length}`);
});
