import { readFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { decodeWith, encodeValue } from '../../../../schemas/avro/codec.ts';
import { type TopicName, topicNames } from '../../../../schemas/events/records.ts';
import { LineError } from '../../../../services/records/json-lines/json-form.ts';
import { linesOf, readLine, showLine } from '../../../../services/records/json-lines/json-line.ts';
import { arbitraryRecords, sampleRecords } from '../../../support/worlds/records.ts';

const nowMs = 1_795_000_000_000;
const read = (line: object | string) => {
  const record = readLine(Buffer.from(typeof line === 'string' ? line : JSON.stringify(line)), nowMs);
  const { decoder, valueBytes } = record;
  return { ...record, ...(valueBytes && (decodeWith(decoder, valueBytes) as { value: unknown })) };
};
const changed = (topic: TopicName, change: object) => {
  const { value } = JSON.parse(showLine(topic, 'k', sampleRecords[topic]));
  return read({ topic, key: 'k', value: { ...value, ...change } }).value as never as Record<string, unknown>;
};
const fault = (line: object | string): string => {
  try {
    readLine(Buffer.from(typeof line === 'string' ? line : JSON.stringify(line)), nowMs);
    return 'none';
  } catch (error) {
    expect(error).toBeInstanceOf(LineError);
    return (error as LineError).message;
  }
};
const ride = (change: object) => {
  const { value } = JSON.parse(showLine('rides', 'k', sampleRecords.rides));
  return { topic: 'rides', key: 'k', value: { ...value, ...change } };
};

// docs/rules.md#json-lines
describe('a line of JSON', () => {
  const longs = fc.oneof(
    fc.maxSafeInteger(),
    fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n).filter((n) => n !== BigInt(Number(n)) || !Number.isSafeInteger(Number(n))),
  );
  const days = fc.integer({ min: -719_162, max: 2_932_896 });
  const times = fc.oneof(fc.constant(null), fc.integer({ min: 0, max: 86_399_999 }));

  it.each(topicNames)('of %s is read as the record that it was printed from, whatever that holds', (topic) => {
    fc.assert(
      fc.property(
        arbitraryRecords[topic],
        fc.string({ unit: 'grapheme' }),
        longs,
        longs,
        days,
        times,
        (any, key, revision, changed_at, day, meet_time) => {
          const value = {
            ...any,
            revision,
            changed_at,
            ...('day' in any && { day }),
            ...('meet_time' in any && { meet_time }),
          };
          const line = showLine(topic, key, value);
          expect(line).not.toContain('\n');
          const again = read(line);
          expect(again).toMatchObject({ topic, key, value });
          expect(again.valueBytes).toEqual(encodeValue(topic, value));
          expect(readLine(Buffer.from(showLine(topic, key, null)), nowMs)).toMatchObject({
            topic,
            key,
            valueBytes: null,
          });
        },
      ),
      { numRuns: 60 },
    );
  });

  it('has a key made of the value, the present for revision and changed_at, and null for what may be absent', () => {
    const { ride: id, day, status, url } = { ride: 'taco', day: '2026-11-24', status: 'ON', url: 'https://a.example' };
    expect(read({ topic: 'nights', value: { ride: id, day, status, url } })).toMatchObject({
      key: 'taco/2026-11-24',
      value: {
        day: 20_781,
        meet_time: null,
        cancellation_reason: null,
        meeting: null,
        revision: nowMs,
        changed_at: nowMs,
      },
    });
  });

  test.each([
    ['18:30', 66_600_000],
    ['18:30:15', 66_615_000],
    ['00:00', 0],
  ])('has %s as a time of day', (text, ms) => {
    expect(changed('nights', { meet_time: text })).toMatchObject({ meet_time: ms });
  });

  test.each([
    ['2026-11-26T18:30:00Z', Date.UTC(2026, 10, 26, 18, 30)],
    ['2026-11-26T18:30:00.123456+02:00', Date.UTC(2026, 10, 26, 16, 30, 0, 123)],
    ['2026-11-26 18:30:00z', Date.UTC(2026, 10, 26, 18, 30)],
    ['-99999999999999999', -99_999_999_999_999_999n],
    ['253402300800000', 253_402_300_800_000],
  ])('has %s as an instant', (text, ms) => {
    expect(changed('riders', { changed_at: text })).toMatchObject({ changed_at: ms });
  });

  test.each([
    ['{', 'the line is not JSON'],
    ['[]', 'the line is not an object'],
    [{ topic: '__proto__', value: {} }, 'topic is not one of metros, districts'],
    [{ topic: 'rides', key: 'k' }, 'value is missing, want an object, or null for a tombstone'],
    [{ topic: 'rides', value: null }, 'key is missing, want the key of the tombstone'],
    [{ topic: 'rides', key: 7, value: null }, 'key is not a text'],
    [
      { topic: 'rides', key: 'k', value: null, partition: 1 },
      'the line has an unknown field "partition", want topic, key, value',
    ],
    [ride({ tilte: 'x' }), 'value has an unknown field "tilte", want ride, title,'],
    ['{"topic":"rides","value":{"__proto__":1}}', 'value has an unknown field "__proto__"'],
    ['{"topic":"rides","value":{"constructor":1}}', 'value has an unknown field "constructor"'],
    [ride({ title: undefined }), 'title is missing, want a text'],
    [ride({ title: null }), 'title is not a text of whole Unicode characters, but null'],
    [ride({ title: 7 }), ', but a JSON number'],
    [ride({ title: '\ud800' }), 'title is not a text of whole Unicode characters'],
    [ride({ distance: '5 to 10' }), 'distance is not one of UNDER_5, FROM_5_TO_10,'],
    [ride({ leaders: ['a', 2] }), 'leaders[1] is not a text'],
    [ride({ leaders: 'a' }), 'leaders is not a list'],
    [ride({ leaders: null }), 'leaders is not a list, but null'],
    [ride({ posted: 'true' }), 'posted is not true or false'],
    [ride({ revision: 1.5 }), 'revision is not a whole number of 64 bits'],
    [
      '{"topic":"rides","key":"k","value":{"ride":"k","title":"","type":"","metro":"","leaders":[],"posted":true,"url":"","revision":9007199254740993}}',
      'beyond 2^53 as a decimal text',
    ],
    [ride({ revision: '9223372036854775808' }), 'revision is not a whole number of 64 bits'],
    [ride({ changed_at: 1_795_000_000_000 }), 'changed_at is not an instant with its offset'],
    [ride({ changed_at: '1795000000' }), 'changed_at is not an instant with its offset'],
    [ride({ changed_at: '2026-02-30T00:00:00Z' }), 'changed_at is not an instant with its offset'],
    [ride({ changed_at: '2026-11-26T18:30:00' }), 'changed_at is not an instant with its offset'],
  ])('is wrong as %j, in words that name the field and what it must be', (line, words) => {
    expect(fault(line)).toContain(words);
  });

  it.each([
    ['nights', { day: '2026-02-29' }, 'day is not a date'],
    ['nights', { meet_time: '24:00' }, 'meet_time is not a time of day, HH:MM, HH:MM:SS or HH:MM:SS.mmm'],
    ['nights', { meeting: { palce_name: 'x' } }, 'meeting has an unknown field "palce_name", want place_name,'],
    ['nights', { meeting: 'Kenton' }, 'meeting is not an object'],
    ['nights', { meeting: { secret: 1 } }, 'meeting.secret is not true or false'],
    ['developer-keys', { key_hash: 'ab' }, 'key_hash is not 32 bytes in hex'],
  ] as const)('of %s is wrong with %j', (topic, change, words) => {
    expect(() => changed(topic, change)).toThrow(words);
  });

  it('says nothing of what the line holds', () => {
    for (const bad of ['{"topic":"riders","key":"secret', 'secret', '{"topic":"secret"}'])
      expect(fault(bad)).not.toContain('secret');
    expect(() => readLine(Buffer.from([0x22, 0xff, 0x22]), nowMs)).toThrow('the line is not UTF-8');
  });
});

describe('lines', () => {
  const lines = async (...chunks: string[]) => {
    const all = [];
    for await (const some of linesOf(Readable.from(chunks.map((one) => Buffer.from(one))))) all.push(...some);
    return all.map(({ number, line }) => [number, line.toString()]);
  };

  it('are the same however the input is cut, without blank ones and a byte-order mark', async () => {
    const whole = '\uFEFFone\r\n\ntwo\n  \nthree';
    const wanted = [
      [1, 'one\r'],
      [3, 'two'],
      [5, 'three'],
    ];
    expect(await lines(whole)).toEqual(wanted);
    expect(await lines(`${whole}\n`)).toEqual(wanted);
    const bytes = [...Buffer.from(whole)].map((byte) => Buffer.from([byte]));
    const all = [];
    for await (const some of linesOf(Readable.from(bytes))) all.push(...some);
    expect(all.map(({ number, line }) => [number, line.toString()])).toEqual(wanted);
  });

  it('of over 16 MiB are refused, and not kept', async () => {
    const chunk = Buffer.alloc(1 << 20, 'x');
    let asked = 0;
    const endless = async function* () {
      for (; ; asked++) yield chunk;
    };
    await expect(async () => {
      for await (const _ of linesOf(endless()));
    }).rejects.toThrow('the line is longer than 16 MiB');
    expect(asked).toBe(16);
  });
});

it('the example records of the docs are one or more of each topic', () => {
  const file = readFileSync(new URL('../../../../docs/example-records.jsonl', import.meta.url), 'utf8');
  const topics = file
    .trim()
    .split('\n')
    .map((line) => readLine(Buffer.from(line), nowMs).topic);
  expect([...new Set(topics)].sort()).toEqual([...topicNames].sort());
});
