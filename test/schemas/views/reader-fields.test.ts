import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ByteMap } from '../../../schemas/views/byte-map.ts';
import { weekOf } from '../../../schemas/views/days.ts';
import { decodeOwn, encodeGoing, encodeOwn, type OwnNight } from '../../../schemas/views/reader-fields.ts';
import { goingOf } from '../../support/stores/view-names.ts';

const id = fc.stringMatching(/^[A-Za-z0-9_-]{1,64}$/);
const ride = fc.stringMatching(/^[a-z0-9]{4,32}$/);
const week = weekOf(20_000);

it('of own nights says which days of its week they are on', () => {
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

it('of riders going is read as it was written, also where ids come again and begin alike', () => {
  const rider = fc.oneof(id, fc.constantFrom('a', 'ab', 'b', 'ba'));
  const going = fc.record({ ride, rider, bits: fc.nat(7) });
  fc.assert(
    fc.property(fc.array(going, { minLength: 1 }), (riders) => {
      expect(goingOf(Buffer.from(encodeGoing(riders)))).toEqual(riders);
    }),
  );
});

it('of riders going that was cut off is an error, never a wait', () => {
  const text = Buffer.from('ride:r1=1;rid');
  expect(() => goingOf(text)).toThrow('without a colon');
});
