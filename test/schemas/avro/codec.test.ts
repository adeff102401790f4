import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeKey, encodeValue } from '../../../schemas/avro/codec.ts';
import { kindOf, type UndecodableReason } from '../../../schemas/avro/undecodable.ts';
import { WriterSchemas } from '../../../schemas/avro/writer-schemas.ts';
import { type Attendance, type TopicName, topicNames } from '../../../schemas/events/records.ts';
import { decodeValue } from '../../support/worlds/judged-record.ts';
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
const rideBody =
  '0a7368323072144e616b656420f09f9ab2000c736f6369616c10706f72746c616e64020800040a723030303108722d325f00013a68747470733a2f2f72696465732e6578616d706c652f722f7368323072fcffffffffffff1fcf0f';
const ride = {
  ...sampleRecords.rides,
  ride: 'sh20r',
  title: 'Naked 🚲',
  distance: 'OVER_40' as const,
  leaders: ['r0001', 'r-2_'],
  url: 'https://rides.example/r/sh20r',
  revision: 9007199254740990,
  changed_at: -1000,
};

const written = (topic: TopicName, body: string) => hex(`c301${fingerprints[topic]}${body}`);
const read = (topic: TopicName, bytes: Buffer) => decodeValue(topic, bytes, writers);

// docs/rules.md#fields-of-records
test('bytes of another Avro library are written and read byte for byte, also in several blocks to an array, which state their size', () => {
  for (const topic of topicNames)
    expect(encodeValue(topic, sampleRecords[topic] as never).toString('hex')).toMatch(`c301${fingerprints[topic]}`);
  expect(encodeValue('rides', ride)).toEqual(written('rides', rideBody));
  // leaders: two blocks of one item, the first with its size in bytes.
  const blocks = rideBody.replace('040a723030303108722d325f00', '010c0a72303030310208722d325f00');
  for (const body of [rideBody, blocks]) expect(read('rides', written('rides', body))).toEqual({ value: ride });
});

// docs/rules.md#encodings
describe('round trip', () => {
  test.each(topicNames)('any record of %s comes back as it was', (topic) => {
    fc.assert(
      fc.property(arbitraryRecords[topic] as fc.Arbitrary<never>, (record) => {
        expect(read(topic, encodeValue(topic, record))).toEqual({ value: record });
      }),
    );
  });

  test('what was encoded is a copy, also of a record larger than the buffer it is encoded into', () => {
    const bytes = encodeValue('developer-keys', sampleRecords['developer-keys']);
    const large = { ...ride, description: 'ø'.repeat(200_000) };
    expect(read('rides', encodeValue('rides', large))).toEqual({ value: large });
    expect(read('developer-keys', bytes)).toEqual({ value: sampleRecords['developer-keys'] });
  });
});

test('what does not fit is not encoded, and the error does not show it', () => {
  const secret = { ...sampleRecords.nights, cancellation_reason: { place: 'Lantern Yard' } as never };
  expect(() => encodeValue('nights', secret)).toThrow(
    "Cannot encode a record of nights: a field's value does not fit schemas/events/nights.avsc",
  );
});

// docs/rules.md#what-is-bad
describe('bad values', () => {
  const good = encodeValue('attendance', sampleRecords.attendance);
  /** Where the fields of the sample begin. */
  const at = { ride: 10, day: 19, rider: 22, response: 28, saved: 29, revision: 30, changed_at: 31 };
  /** The sample with other bytes from a place on. */
  const altered = (from: number, bytes: string, to = from + bytes.length / 2): Buffer =>
    Buffer.concat([good.subarray(0, from), hex(bytes), good.subarray(to)]);
  const withDay = (bytes: string) => altered(at.day, bytes, at.rider);
  const withRevision = (bytes: string) => altered(at.revision, bytes, at.changed_at);

  /** A rider, whose name's branch is this one: rider (6 bytes) and handle (4) come before. */
  const withBranch = (branch: number): Buffer => {
    const rider = encodeValue('riders', sampleRecords.riders);
    rider[20] = branch;
    return rider;
  };
  const endless = written('rides', rideBody.replace('040a723030303108722d325f00', 'feffffff0f'));

  test.each<[UndecodableReason, string, Buffer, TopicName?]>([
    ['not Avro', 'no bytes', Buffer.alloc(0)],
    ['not Avro', 'JSON', Buffer.from('{"ride":"ride0001"}')],
    ['not Avro', 'another magic', altered(0, 'c302')],
    ['incompatible writer schema', "another topic's record", encodeValue('metros', sampleRecords.metros)],
    ['trailing bytes', 'a byte too many', Buffer.concat([good, hex('00')])],
    ['undecodable value', 'a boolean other than 0 and 1', altered(at.saved, '02')],
    ['undecodable value', 'an enum index below 0', altered(at.response, '01')],
    ['undecodable value', 'a text of negative length', altered(at.ride, '01')],
    ['text is not UTF-8', 'a text that is not UTF-8', altered(at.ride + 3, 'ff')],
    ['text is not UTF-8', 'half a surrogate pair', altered(at.ride + 1, 'eda080')],
    ['number out of range', 'an int of more than 32 bits', withDay('ffffffff1f')],
    ['number out of range', 'a long of more than 64 bits', withRevision('80808080808080808002')],
    ['undecodable value', 'a number of endless bytes', withRevision('8280808080808080808080')],
    ['undecodable value', 'a union index beyond the branches', withBranch(4), 'riders'],
    ['undecodable value', 'a union index below 0', withBranch(1), 'riders'],
    ['undecodable value', 'an array that claims more items than there are bytes', endless, 'rides'],
  ])('%s: %s', (bad, _, bytes, topic = 'attendance') => {
    expect(kindOf((read(topic, bytes) as { bad: string }).bad)).toBe(bad);
  });

  test('every cut off value is undecodable', () => {
    for (let length = 10; length < good.length; length++)
      expect(read('attendance', good.subarray(0, length))).toEqual({ bad: 'undecodable value' });
  });

  test.each<[string, Buffer, object]>([
    ['a text with U+FFFD in it', altered(at.ride + 1, 'efbfbd'), { ride: '\uFFFDe0001' }],
    ['the widest int', withDay('ffffffff0f'), { day: -(2 ** 31) }],
    ['the widest exact long', withRevision('fdffffffffffff1f'), { revision: -(2 ** 53 - 1) }],
    ['a number of more bytes than it needs', withRevision('82808080808080808000'), { revision: 1 }],
    ['the largest long, a bigint', withRevision('feffffffffffffffff01'), { revision: 2n ** 63n - 1n }],
    ['the least long', withRevision('ffffffffffffffffff01'), { revision: -(2n ** 63n) }],
  ])('%s is good, and written again as it came', (_, bytes, fields) => {
    const decoded = read('attendance', bytes) as { value: Attendance };
    expect(decoded).toMatchObject({ value: fields });
    expect(read('attendance', encodeValue('attendance', decoded.value))).toEqual(decoded);
  });
});

test('a key is its text; a missing one, and one that is not UTF-8, are bad', () => {
  for (const key of ['ride0001/2015-06-13', 'a\uFFFDb', '']) expect(decodeKey(Buffer.from(key))).toEqual({ key });
  expect(decodeKey(null)).toEqual({ bad: 'no key' });
  expect(decodeKey(hex('c328'))).toEqual({ bad: 'key is not UTF-8' });
});
