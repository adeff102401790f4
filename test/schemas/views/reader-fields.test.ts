import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ByteMap } from '../../../schemas/views/byte-map.ts';
import { weekOf } from '../../../schemas/views/days.ts';
import {
  decodeGoing,
  decodeOwn,
  encodeGoing,
  encodeOwn,
  type GoingRider,
  type OwnNight,
  parseFieldName,
} from '../../../schemas/views/reader-fields.ts';

const id = fc.stringMatching(/^[A-Za-z0-9_-]{1,64}$/);
const ride = fc.stringMatching(/^[a-z0-9]{4,32}$/);
const week = weekOf(20_000);

/** Who goes to which nights, but for those of one ride, by the text of a day's field. */
function goingOf(value: Buffer, without = ''): GoingRider[] {
  const riders: GoingRider[] = [];
  let ride = '';
  const names = new ByteMap((id) => id);
  const take = (next: string) => {
    ride = next;
    return next !== without;
  };
  const going = (rider: string, bits: number) => void riders.push({ ride, rider, bits });
  decodeGoing({ kind: 'f', first: 0, value }, names, names, take, going);
  return riders;
}

it('a field is named by its kind and its day, which is a Monday where it shows a week', () => {
  expect(['f2015-06-13', 'o2015-06-08', 'o2015-06-13', 'z2015-06-08', 'f2015-06-31'].map(parseFieldName)).toEqual([
    ...[
      { kind: 'f', first: 16_599 },
      { kind: 'o', first: 16_594 },
    ],
    ...[null, null, null],
  ]);
});

it('a field of own nights says which days of its week they are on', () => {
  const night = fc.record({ day: fc.integer({ min: week, max: week + 6 }), ride, bits: fc.nat(15) });
  fc.assert(
    fc.property(fc.array(night, { minLength: 1 }), (nights) => {
      const read: OwnNight[] = [];
      const field = { first: week, value: Buffer.from(encodeOwn(nights)) };
      decodeOwn(field, new ByteMap((ride, day) => ({ day, ride })), (night, bits) => read.push({ ...night, bits }));
      expect(read).toEqual(nights);
    }),
  );
});

it('a field of riders going is read as it was written, also where ids come again and begin alike', () => {
  const rider = fc.oneof(id, fc.constantFrom('a', 'ab', 'b', 'ba'));
  const going = fc.record({ ride, rider, bits: fc.nat(7) });
  fc.assert(
    fc.property(fc.array(going, { minLength: 1 }), (riders) => {
      const value = Buffer.from(encodeGoing(riders));
      expect(goingOf(value)).toEqual(riders);
      const [{ ride: without }] = riders as [GoingRider];
      expect(goingOf(value, without)).toEqual(riders.filter(({ ride }) => ride !== without));
    }),
  );
});

it('a field of riders going that was cut off is an error, never a wait', () => {
  expect(() => goingOf(Buffer.from('ride:r1=1;rid'))).toThrow('without a colon');
});

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

it('a byte map has one value for each text and day, of any length, also where texts begin or end alike', () => {
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

it('a byte map has a value for each of very many, and forgets them when it is told to', () => {
  let made = 0;
  const map = new ByteMap((id) => `${id} ${made++}`);
  // So many that hashes of some are the same.
  const many = Array.from({ length: 200_000 }, (_, i) => [`rider-${i}-of-many`, 0] as const);
  const few = many.slice(0, 5);
  map.trim();
  for (const _ of ['made', 'found']) expect(valuesOf(map, many)[0]).toBe('rider-0-of-many 0');
  expect(made).toBe(many.length);
  map.trim();
  expect(valuesOf(map, few)[0]).toBe(`rider-0-of-many ${many.length}`);
});
