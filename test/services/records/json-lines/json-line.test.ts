import { Readable } from 'node:stream';
import fc from 'fast-check';
import { expect, it, test } from 'vitest';
import { decodeWith, encodeValue } from '../../../../schemas/avro/codec.ts';
import { byTopic, type TopicName, topicNames } from '../../../../schemas/events/records.ts';
import { LineError } from '../../../../services/records/json-lines/json-form.ts';
import { linesOf, readLine, showLine } from '../../../../services/records/json-lines/json-line.ts';
import { arbitraryRecords, sampleRecords } from '../../../support/worlds/records.ts';

const nowMs = 1_795_000_000_000;
const raw = (line: object | string) =>
  readLine(Buffer.from(typeof line === 'string' ? line : JSON.stringify(line)), nowMs);
const read = (line: object | string) => {
  const record = raw(line);
  const { decoder, valueBytes } = record;
  return { ...record, ...(valueBytes && (decodeWith(decoder, valueBytes) as { value: unknown })) };
};
/** A line whose value differs from the sample's. */
const of = (topic: TopicName, change: object) => {
  const { value } = JSON.parse(showLine(topic, 'k', sampleRecords[topic]));
  return { topic, key: 'k', value: { ...value, ...change } };
};
const ride = (change: object) => of('rides', change);

// docs/rules.md#json-lines
const longs = fc.oneof(
  fc.maxSafeInteger(),
  fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n).filter((n) => n !== BigInt(Number(n)) || !Number.isSafeInteger(Number(n))),
);
const day = fc.integer({ min: -719_162, max: 2_932_896 });
const meet_time = fc.oneof(fc.constant(null), fc.integer({ min: 0, max: 86_399_999 }));
const more = { revision: longs, changed_at: longs, day, meet_time };
const any = byTopic((topic) =>
  fc.tuple(fc.string({ unit: 'grapheme' }), arbitraryRecords[topic], fc.record(more)).map(([key, one, odd]) => {
    const fields = Object.entries(odd).filter(([name]) => name in one || !['day', 'meet_time'].includes(name));
    return { key, value: { ...one, ...Object.fromEntries(fields) } };
  }),
);

it.each(topicNames)(
  'a line of JSON of %s is read as the record that it was printed from, whatever that holds',
  (topic) => {
    fc.assert(
      fc.property(any[topic], ({ key, value }) => {
        const line = showLine(topic, key, value);
        expect(line).not.toContain('\n');
        const again = read(line);
        expect(again).toMatchObject({ topic, key, value });
        expect(again.valueBytes).toEqual(encodeValue(topic, value));
        expect(read(showLine(topic, key, null))).toMatchObject({ topic, key, valueBytes: null });
      }),
      { numRuns: 60 },
    );
  },
);

it('a line of JSON has a key made of the value, the present for revision and changed_at, and null for what may be absent', () => {
  const { ride: id, day, status, url } = { ride: 'taco', day: '2026-11-24', status: 'ON', url: 'https://a.example' };
  const none = { meet_time: null, cancellation_reason: null, meeting: null };
  expect(read({ topic: 'nights', value: { ride: id, day, status, url } })).toMatchObject({
    key: 'taco/2026-11-24',
    value: { ...none, day: 20_781, revision: nowMs, changed_at: nowMs },
  });
});

test.each([
  ['nights', 'meet_time', '18:30', 66_600_000],
  ['nights', 'meet_time', '18:30:15', 66_615_000],
  ['riders', 'changed_at', '2026-11-26T18:30:00.123456+02:00', Date.UTC(2026, 10, 26, 16, 30, 0, 123)],
  ['riders', 'changed_at', '-99999999999999999', -99_999_999_999_999_999n],
] as const)('a line of JSON of %s has as %s %s', (topic, field, text, ms) => {
  expect(read(of(topic, { [field]: text })).value).toMatchObject({ [field]: ms });
});

test.each([
  ['{', 'the line is not JSON'],
  [{ topic: '__proto__', value: {} }, 'topic is not one of metros, districts'],
  [{ topic: 'rides', key: 'k' }, 'value is missing, want an object, or null for a tombstone'],
  [{ topic: 'rides', value: null }, 'key is missing, want the key of the tombstone'],
  [ride({ tilte: 'x' }), 'value has an unknown field "tilte", want ride, title,'],
  ['{"topic":"rides","value":{"__proto__":1}}', 'value has an unknown field "__proto__"'],
  [ride({ title: null }), 'title is not a text of whole Unicode characters, but null'],
  [ride({ title: '\ud800' }), 'title is not a text of whole Unicode characters'],
  [ride({ distance: '5 to 10' }), 'distance is not one of UNDER_5, FROM_5_TO_10,'],
  [ride({ leaders: ['a', 2] }), 'leaders[1] is not a text'],
  [ride({ posted: 'true' }), 'posted is not true or false'],
  [ride({ revision: 1.5 }), 'revision is not a whole number of 64 bits'],
  [JSON.stringify(ride({ revision: 1 })).replace('"revision":1', '"revision":9007199254740993'), 'beyond 2^53 as a'],
  [ride({ changed_at: 1_795_000_000_000 }), 'changed_at is not an instant with its offset'],
  // The first and the last that RFC 3339 can say.
  [ride({ changed_at: '-62135596800000' }), 'changed_at is not an instant with its offset'],
  [ride({ changed_at: '253402300799999' }), 'changed_at is not an instant with its offset'],
  [of('nights', { day: '2026-02-29' }), 'day is not a date'],
  [of('nights', { meet_time: '24:00' }), 'meet_time is not a time of day, HH:MM, HH:MM:SS or HH:MM:SS.mmm'],
  [of('developer-keys', { key_hash: 'ab' }), 'key_hash is not 32 bytes in hex'],
])('a line of JSON is wrong as %j, in words that name the field and what it must be', (line, words) => {
  expect(() => raw(line)).toThrow(LineError);
  expect(() => raw(line)).toThrow(words);
});

it('a line of JSON says nothing of what the line holds', () => {
  for (const bad of ['{"topic":"riders","key":"secret', 'secret', '{"topic":"secret"}'])
    expect(() => raw(bad)).toThrow(/^((?!secret).)*$/);
  expect(() => readLine(Buffer.from([0x22, 0xff, 0x22]), nowMs)).toThrow('the line is not UTF-8');
});

it('lines are the same however the input is cut, without blank ones and a byte-order mark', async () => {
  const whole = Buffer.from('\uFEFFone\r\n\ntwo\n  \nthree');
  for (const chunks of [[whole], [whole, Buffer.from('\n')], [...whole].map((byte) => Buffer.of(byte))]) {
    const lines = (await Array.fromAsync(linesOf(Readable.from(chunks)))).flat();
    expect(lines.map(({ number, line }) => `${number} ${line}`)).toEqual(['1 one\r', '3 two', '5 three']);
  }
});

it('lines of over 16 MiB are refused, and not kept', async () => {
  const chunk = Buffer.alloc(1 << 20, 'x');
  let asked = 0;
  const endless = async function* () {
    for (; ; asked++) yield chunk;
  };
  await expect(Array.fromAsync(linesOf(endless()))).rejects.toThrow('the line is longer than 16 MiB');
  expect(asked).toBe(16);
});
