import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { Cursor } from '../../../schemas/avro/avro-cursor.ts';
import { topicTypes } from '../../../schemas/avro/avro-types.ts';
import { agrees } from '../../../schemas/avro/key-agreement.ts';
import { topicDecoder } from '../../../schemas/avro/topic-decoder.ts';
import {
  crc32Partition,
  defaultPartitioners,
  murmur2Partition,
  partitioners,
  partitionFor,
} from '../../../schemas/events/partitioner.ts';
import { parseRecordKey, RecordKey } from '../../../schemas/events/record-keys.ts';
import {
  type AnyRecord,
  byTopic,
  defaultTopicPrefix,
  isTopicName,
  type TopicName,
} from '../../../schemas/events/records.ts';
import { goodChange } from '../../support/worlds/record-arbs.ts';
import { recordKey } from '../../support/worlds/records.ts';

const today = 20_000;
const faultOf = (topic: TopicName, key: string) => new RecordKey().set(topic, Buffer.from(key));

/** Whether a good key's fields are those of a record. */
function isKeyOf(topic: TopicName, key: string, record: AnyRecord): boolean {
  const cursor = new Cursor();
  const decoder = topicDecoder(topic, topicTypes[topic], 0);
  return agrees(
    topic,
    recordKey(topic, key),
    decoder.place(cursor.set(topicTypes[topic].toBuffer(record), 0))!,
    cursor,
  );
}

it('the key of a good record is taken apart into the fields of the record, and is of that record alone', () => {
  fc.assert(
    fc.property(goodChange(today), goodChange(today), ({ topic, key, value }, other) => {
      fc.pre(value !== null && other.value !== null);
      const parsed = parseRecordKey(topic, key);
      expect(value).toMatchObject('fields' in parsed ? parsed.fields : {});
      expect('fields' in parsed).toBe(true);
      expect(isKeyOf(topic, key, value!)).toBe(true);
      if (other.topic === topic) expect(isKeyOf(topic, key, other.value!)).toBe(other.key === key);
    }),
    { numRuns: 1_000 },
  );
});

// docs/rules.md#keys
test.each<[TopicName, number, number]>([
  ['metros', 2, 32],
  ['districts', 1, 80],
  ['riders', 1, 64],
  ['rides', 4, 32],
  ['developer-keys', 1, 64],
])('a key of %s has %i to %i characters', (topic, min, max) => {
  const isKey = [min - 1, min, max, max + 1].map((length) => faultOf(topic, 'a'.repeat(length)) === null);
  expect(isKey).toEqual([false, true, true, false]);
});

describe('a bad key', () => {
  test.each<[TopicName, ...keys: string[]]>([
    ['nights', 'ride1', 'ride12026-01-01', 'ride1/2026-01-01/r1', 'ride1/0000-12-31', 'ride1/10000-01-01'],
    ['attendance', 'ride1/r1', 'ride12026-01-01/r1', 'ride1/2026-01-01r1', 'ride1/2026-01-01/'],
    ['relations', '', '/', 'ab', 'a/', '/b', 'a//b'],
    ['riders', 'a/b'],
    ['metros', 'portland/'],
  ])('of %s is off its pattern', (topic, ...keys) => {
    for (const key of keys) expect([key, faultOf(topic, key)]).toEqual([key, 'key does not match its pattern']);
  });

  it('that relates a rider to themself is one, whatever else it matches', () => {
    expect(parseRecordKey('relations', 'me/me')).toEqual({ fault: 'rider related to themself' });
    expect(faultOf('relations', 'me/Me')).toBeNull();
  });
});

test('murmur2 is what Kafka’s own tests want, and a negative hash drops its sign, as in Java', () => {
  // From Kafka's own UtilsTest.testMurmur2.
  const long = 'lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8';
  const hashes = { '21': -973932308, 'a-little-bit-long-string': -985981536, [long]: -58897971, abc: 479470107 };
  for (const [key, hash] of Object.entries(hashes))
    for (const count of [3, 4, 2 ** 31])
      expect(murmur2Partition(Buffer.from(key), count)).toBe((hash & 0x7fffffff) % count);
});

// docs/rules.md#one-partition-per-key
test('one partition needs no partitioner, and what another one does is not known; by default it is murmur2', () => {
  const key = Buffer.from('r1');
  const partitions = partitioners.map((one) => [1, 8].map((count) => partitionFor(one, key, count)));
  expect(partitions).toEqual([
    [0, 4],
    [0, 1],
    [0, null],
  ]);
  expect(defaultPartitioners).toEqual(byTopic(() => 'murmur2'));
});

// docs/rules.md#topics
test('a topic is known by its name alone, and has the prefix ride-calendar.', () => {
  expect(['rides', '__proto__', 'constructor', 'Rides'].map(isTopicName)).toEqual([true, false, false, false]);
  expect(defaultTopicPrefix).toBe('ride-calendar.');
});

test('the CRC32 partition is what librdkafka’s own tests want', () => {
  // From its test 0048-partitioner.
  const long = 'this is another string with more length to it perhaps';
  for (const [key, hash] of Object.entries({ '23456': 0xb1b451d7, [long]: 0xb0150df7, hejsan: 0xd077037e }))
    for (const count of [1, 4, 17]) expect(crc32Partition(Buffer.from(key), count)).toBe(hash % count);
});
