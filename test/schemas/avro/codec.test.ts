import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { topicTypes } from '../../../schemas/avro/avro-types.ts';
import { decodeKey, decodeValue, encodeValue } from '../../../schemas/avro/codec.ts';
import { WriterSchemas } from '../../../schemas/avro/writer-schemas.ts';
import { type Attendance, type TopicName, topicNames } from '../../../schemas/events/records.ts';
import { arbitraryRecords, sampleRecords } from '../../support/worlds/records.ts';

const writers = new WriterSchemas();
const hex = (text: string) => Buffer.from(text, 'hex');

/** Written by fastavro: an implementation that shares nothing with ours. */
const fingerprints: Record<TopicName, string> = {
  attendance: 'df3ca220c652eb79',
  'developer-keys': 'cdf100a401ab8483',
  districts: 'd93508ae07e9dccf',
  metros: '3d7e669d233747e4',
  nights: '2b0a3af49553c582',
  relations: '640a4c67c338147b',
  riders: '1e2627c682bc8d83',
  rides: 'e86cec9986de33ae',
};
const nightBody =
  '0a7368323072ae83020280ce9d4102021252c3b8796b20e298820200020c6b656e746f6e01013a68747470733a2f2f72696465732e6578616d706c652f722f736832307206f691fc90bc53';
const night = {
  ride: 'sh20r',
  day: 16599,
  meet_time: 68_400_000,
  status: 'CANCELLED' as const,
  cancellation_reason: 'Røyk ☂',
  meeting: { place_name: null, district: 'kenton', secret: true, show_neighbourhood: true },
  url: 'https://rides.example/r/sh20r',
  revision: 3,
  changed_at: 1434000000123,
};
const rideBody =
  '0a7368323072144e616b656420f09f9ab2000c736f6369616c10706f72746c616e64020800040a723030303108722d325f00013a68747470733a2f2f72696465732e6578616d706c652f722f7368323072fcffffffffffff1fcf0f';
const ride = {
  ride: 'sh20r',
  title: 'Naked 🚲',
  description: null,
  type: 'social',
  metro: 'portland',
  distance: 'OVER_40' as const,
  audience: null,
  leaders: ['r0001', 'r-2_'],
  posted: true,
  url: 'https://rides.example/r/sh20r',
  revision: 9007199254740990,
  changed_at: -1000,
};

describe('bytes of another Avro library', () => {
  // docs/rules.md#fields-of-records
  test.each(topicNames)('the fingerprint of %s is the one that it works out', (topic) => {
    const header = encodeValue(topic, sampleRecords[topic] as never).subarray(0, 10);
    expect(header.toString('hex')).toBe(`c301${fingerprints[topic]}`);
  });

  test('a night is written and read byte for byte', () => {
    const bytes = hex(`c301${fingerprints.nights}${nightBody}`);
    expect(encodeValue('nights', night)).toEqual(bytes);
    expect(decodeValue('nights', bytes, writers)).toEqual({ value: night });
  });

  test('a ride is written and read byte for byte', () => {
    const bytes = hex(`c301${fingerprints.rides}${rideBody}`);
    expect(encodeValue('rides', ride)).toEqual(bytes);
    expect(decodeValue('rides', bytes, writers)).toEqual({ value: ride });
  });

  test('blocks that state their size, and several blocks to an array, are read', () => {
    // leaders: two blocks of one item, the first with its size in bytes.
    const bytes = hex(
      `c301${fingerprints.rides}${rideBody}`.replace('040a723030303108722d325f00', '010c0a72303030310208722d325f00'),
    );
    expect(decodeValue('rides', bytes, writers)).toEqual({ value: ride });
  });
});

// docs/rules.md#encodings
describe('round trip', () => {
  test.each(topicNames)('any record of %s comes back as it was', (topic) => {
    fc.assert(
      fc.property(arbitraryRecords[topic] as fc.Arbitrary<never>, (record) => {
        expect(decodeValue(topic, encodeValue(topic, record), writers)).toEqual({ value: record });
      }),
    );
  });

  test('a record larger than the buffer it is encoded into comes back as it was', () => {
    const large = { ...ride, description: 'ø'.repeat(200_000) };
    expect(decodeValue('rides', encodeValue('rides', large), writers)).toEqual({ value: large });
  });

  test('an encoded record stays as it is when the next one is encoded', () => {
    const first = encodeValue('rides', ride);
    const copy = Buffer.from(first);
    encodeValue('nights', night);
    expect(first).toEqual(copy);
  });

  test('a key hash is a copy: it does not change with the buffer it was read from', () => {
    const bytes = encodeValue('developer-keys', sampleRecords['developer-keys']);
    const decoded = decodeValue('developer-keys', bytes, writers);
    bytes.fill(0);
    expect(decoded).toEqual({ value: sampleRecords['developer-keys'] });
  });
});

describe('encoding what does not fit', () => {
  test('says so without showing the value', () => {
    const secret = { ...night, cancellation_reason: { place: 'Lantern Yard' } as never };
    expect(() => encodeValue('nights', secret)).toThrow(
      "Cannot encode a record of nights: a field's value does not fit schemas/events/nights.avsc",
    );
  });
});

// docs/rules.md#what-is-bad
describe('bad values', () => {
  const good = encodeValue('attendance', sampleRecords.attendance);
  const change = (change: (bytes: Buffer) => Buffer | undefined) => {
    const copy = Buffer.from(good);
    return decodeValue('attendance', change(copy) ?? copy, writers);
  };
  /** Where the fields of the sample begin. */
  const at = { ride: 10, day: 19, rider: 22, response: 28, saved: 29, revision: 30, changed_at: 31 };

  test('the sample is good, and its fields are where these tests change them', () => {
    expect(change(() => undefined)).toEqual({ value: sampleRecords.attendance });
    expect(good.length).toBe(at.changed_at + 1);
  });

  test.each([
    ['no bytes', Buffer.alloc(0)],
    ['JSON', Buffer.from('{"ride":"ride0001"}')],
    ['a single object cut off in its header', good.subarray(0, 9)],
    ['a registry header cut off', hex('00000001')],
    ['another magic', Buffer.concat([hex('c302'), good.subarray(2)])],
  ])('%s: not Avro', (_name, bytes) => {
    expect(decodeValue('attendance', bytes, writers)).toEqual({ bad: 'not Avro' });
  });

  // docs/rules.md#unknown-schema
  test('a fingerprint that nobody knows', () => {
    expect(change((bytes) => void bytes.writeUInt8(bytes[5]! ^ 1, 5))).toEqual({ bad: 'unknown fingerprint' });
  });

  test("another topic's record is incompatible", () => {
    const bytes = encodeValue('metros', sampleRecords.metros);
    expect(decodeValue('attendance', bytes, writers)).toEqual({ bad: 'incompatible writer schema' });
  });

  test('every cut off value is undecodable', () => {
    for (let length = 10; length < good.length; length++) {
      expect(decodeValue('attendance', good.subarray(0, length), writers)).toEqual({ bad: 'undecodable value' });
    }
  });

  test('a byte too many: trailing bytes', () => {
    expect(change((bytes) => Buffer.concat([bytes, hex('00')]))).toEqual({ bad: 'trailing bytes' });
  });

  test('a boolean other than 0 and 1', () => {
    expect(change((bytes) => void bytes.writeUInt8(2, at.saved))).toEqual({ bad: 'undecodable value' });
  });

  test('an enum index beyond the symbols, and one below 0', () => {
    expect(change((bytes) => void bytes.writeUInt8(6, at.response))).toEqual({ bad: 'undecodable value' });
    expect(change((bytes) => void bytes.writeUInt8(1, at.response))).toEqual({ bad: 'undecodable value' });
  });

  test('a text of negative length, and one longer than what is left', () => {
    expect(change((bytes) => void bytes.writeUInt8(1, at.ride))).toEqual({ bad: 'undecodable value' });
    expect(change((bytes) => void bytes.writeUInt8(126, at.rider))).toEqual({ bad: 'undecodable value' });
  });

  test('a text that is not UTF-8, also where it encodes half a surrogate pair', () => {
    expect(change((bytes) => void bytes.writeUInt8(0xff, at.ride + 3))).toEqual({ bad: 'text is not UTF-8' });
    expect(change((bytes) => void hex('eda080').copy(bytes, at.ride + 1))).toEqual({ bad: 'text is not UTF-8' });
  });

  test('a text with U+FFFD in it is a text', () => {
    const record = { ...sampleRecords.attendance, ride: 'a\uFFFDb' };
    expect(decodeValue('attendance', encodeValue('attendance', record), writers)).toEqual({ value: record });
  });

  test('a union index beyond the branches, and one below 0', () => {
    const rider = encodeValue('riders', sampleRecords.riders);
    // rider (6 bytes), handle (4), then the index of name's branch.
    for (const byte of [4, 1]) {
      rider[20] = byte;
      expect(decodeValue('riders', rider, writers)).toEqual({ bad: 'undecodable value' });
    }
  });

  const withNumber = (from: number, to: number, bytes: string) =>
    change((value) => Buffer.concat([value.subarray(0, from), hex(bytes), value.subarray(to)]));

  test('an int of more than 32 bits is out of range, the widest ones are not', () => {
    expect(withNumber(at.day, at.rider, 'ffffffff1f')).toEqual({ bad: 'number out of range' });
    expect(withNumber(at.day, at.rider, '808080808001')).toEqual({ bad: 'number out of range' });
    expect(withNumber(at.day, at.rider, 'feffffff0f')).toMatchObject({ value: { day: 2 ** 31 - 1 } });
    expect(withNumber(at.day, at.rider, 'ffffffff0f')).toMatchObject({ value: { day: -(2 ** 31) } });
  });

  test('a long beyond 2^53 is a bigint and is written again as it came, one of more than 64 bits is out of range', () => {
    const revision = (bytes: string) => withNumber(at.revision, at.changed_at, bytes);
    expect(revision('feffffffffffff1f')).toMatchObject({ value: { revision: 2 ** 53 - 1 } });
    expect(revision('fdffffffffffff1f')).toMatchObject({ value: { revision: -(2 ** 53 - 1) } });
    for (const [bytes, wide] of [
      ['8080808080808020', 2n ** 53n],
      ['80808080808080808001', 2n ** 62n],
      ['feffffffffffffffff01', 2n ** 63n - 1n],
      ['ffffffffffffffffff01', -(2n ** 63n)],
    ] as const) {
      const read = revision(bytes);
      expect(read).toMatchObject({ value: { revision: wide } });
      const again = encodeValue('attendance', (read as { value: Attendance }).value);
      expect(again.toString('hex')).toContain(bytes);
    }
    expect(revision('80808080808080808002')).toEqual({ bad: 'number out of range' });
  });

  test('a number that takes more bytes than it needs is a number, one of endless bytes is not', () => {
    expect(withNumber(at.revision, at.changed_at, '828000')).toMatchObject({ value: { revision: 1 } });
    expect(withNumber(at.revision, at.changed_at, '82808080808080808000')).toMatchObject({ value: { revision: 1 } });
    expect(withNumber(at.revision, at.changed_at, '8280808080808080808080')).toEqual({ bad: 'undecodable value' });
  });

  test('an array that claims more items than there are bytes fails at once', () => {
    const bytes = hex(`c301${fingerprints.rides}${rideBody}`.replace('040a723030303108722d325f00', 'feffffff0f'));
    expect(decodeValue('rides', bytes, writers)).toEqual({ bad: 'undecodable value' });
  });

  test('any bytes are either a value that reads the same once more, or bad: nothing is thrown', () => {
    const header = encodeValue('nights', night).subarray(0, 10);
    fc.assert(
      fc.property(fc.constantFrom('nights', 'rides'), fc.uint8Array({ maxLength: 60 }), (topic, body) => {
        const start = topic === 'nights' ? header : hex(`c301${fingerprints.rides}`);
        const decoded = decodeValue(topic, Buffer.concat([start, body]), writers);
        if ('value' in decoded) {
          expect(decodeValue(topic, encodeValue(topic, decoded.value as never), writers)).toEqual(decoded);
        } else expect(decoded).toHaveProperty('bad');
      }),
      { numRuns: 2000 },
    );
  });

  test('one byte changed anywhere: avsc agrees wherever it is not lax', () => {
    const body = hex(nightBody);
    const type = topicTypes.nights;
    fc.assert(
      fc.property(fc.nat(body.length - 1), fc.integer({ min: 1, max: 255 }), (index, mask) => {
        const changed = Buffer.from(body);
        changed[index] = changed[index]! ^ mask;
        const decoded = decodeValue('nights', Buffer.concat([hex(`c301${fingerprints.nights}`), changed]), writers);
        if ('value' in decoded) expect(decoded.value).toEqual({ ...(type.fromBuffer(changed) as object) });
      }),
      { numRuns: 2000 },
    );
  });
});

describe('keys', () => {
  test('a key is its text', () => {
    expect(decodeKey(Buffer.from('ride0001/2015-06-13'))).toEqual({ key: 'ride0001/2015-06-13' });
    expect(decodeKey(Buffer.from('a\uFFFDb'))).toEqual({ key: 'a\uFFFDb' });
    expect(decodeKey(Buffer.alloc(0))).toEqual({ key: '' });
  });

  test('a missing key and one that is not UTF-8 are bad', () => {
    expect(decodeKey(null)).toEqual({ bad: 'no key' });
    expect(decodeKey(hex('c328'))).toEqual({ bad: 'key is not UTF-8' });
  });
});
