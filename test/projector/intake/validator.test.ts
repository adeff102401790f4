import type { Schema } from 'avsc';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { deliveredRecord } from '../../../infra/kafka/log/delivered-record.ts';
import { Validator, whyBad } from '../../../projector/intake/validator.ts';
import { decoded } from '../../../projector/ports/decoded-record.ts';
import type { EncodedRecord } from '../../../projector/ports/event-log.ts';
import { parseOurs, topicSchemas } from '../../../schemas/avro/avro-types.ts';
import { encodeValue } from '../../../schemas/avro/codec.ts';
import { archivedDecoder } from '../../../schemas/avro/topic-decoder.ts';
import { kindOf } from '../../../schemas/avro/undecodable.ts';
import { WriterSchemas } from '../../../schemas/avro/writer-schemas.ts';
import type { AnyRecord, TopicName } from '../../../schemas/events/records.ts';
import { dayMax, dayMin } from '../../../schemas/views/days.ts';
import { badness } from '../../reference/facts.ts';
import { badChange } from '../../support/worlds/bad-record-arb.ts';
import { badRecord } from '../../support/worlds/judged-record.ts';
import { type Change, goodChange, weighted } from '../../support/worlds/record-arbs.ts';
import { sampleRecords } from '../../support/worlds/records.ts';

const today = 20_000;
const place = { partition: 0, offset: 3, timestampMs: 7 };
const writers = new WriterSchemas();
const anyChange = weighted([1, goodChange(today)], [8, badChange(today)]);

/** A tombstone of an archive, which has it as a value. */
const archivedGone = (topic: TopicName, keyBytes: Buffer) => {
  const decoder = archivedDecoder(topic, parseOurs(['null', topicSchemas[topic]] as Schema));
  return { topic, keyBytes, valueBytes: Buffer.from([0]), decoder };
};

// docs/rules.md#what-is-bad
it.each<[string, TopicName, string, object, string | null]>([
  ['a night just before midnight', 'nights', 'ride0001/2015-06-13', { meet_time: 86_399_999 }, null],
  ['a night before its day', 'nights', 'ride0001/2015-06-13', { meet_time: -1 }, 'time outside the day'],
  ['a night after its day', 'nights', 'ride0001/2015-06-13', { meet_time: 86_400_000 }, 'time outside the day'],
  ['a night of year 1', 'nights', 'ride0001/0001-01-01', { day: dayMin }, null],
  ['a night of year 9999', 'nights', 'ride0001/9999-12-31', { day: dayMax }, null],
  ['a night of year 0', 'nights', 'ride0001/0000-12-31', { day: dayMin - 1 }, 'day outside years 0001 to 9999'],
  ['a night of year 10000', 'nights', 'ride0001/2015-06-13', { day: dayMax + 1 }, 'day outside years 0001 to 9999'],
  ['the first night of another ride', 'nights', 'ride0002/0001-01-01', { day: dayMin }, 'key disagrees with value'],
  ['the last night of another ride', 'nights', 'ride0002/9999-12-31', { day: dayMax }, 'key disagrees with value'],
  ['an RSVP of year 0', 'attendance', 'x', { day: dayMin - 1 }, 'day outside years 0001 to 9999'],
  ['an RSVP of year 10000', 'attendance', 'x', { day: dayMax + 1 }, 'day outside years 0001 to 9999'],
  ['a relation to oneself', 'relations', 'r1/r1', {}, 'rider related to themself'],
])('%s is good, or bad for its reason', (_, topic, key, changes, reason) => {
  const bad = badRecord(topic, key, { ...sampleRecords[topic], ...changes } as AnyRecord);
  expect(bad && kindOf(bad)).toBe(reason);
  // A tombstone needs a good key alone.
  const badKey = badRecord(topic, key, null);
  expect(badKey === null).toBe(badness({ topic, key, value: null }) === null);
  expect(whyBad(archivedGone(topic, Buffer.from(key)))).toBe(badKey);
});

it('a record without a key, with one that is no text, or with a value that nothing decodes is bad', () => {
  const validator = new Validator();
  const [keyBytes, valueBytes] = [Buffer.from('r1'), Buffer.from('?')];
  const bare = { topic: 'riders' as const, keyBytes, valueBytes, decoder: 'unknown schema id' as const };
  expect(validator.validate(bare)).toBe('unknown schema id');
  expect(validator.validate({ ...bare, keyBytes: null, decoder: null })).toBe('no key');
  expect(validator.validate({ ...bare, keyBytes: Buffer.from([0xff]), valueBytes: null })).toBe('key is not UTF-8');
  expect(whyBad(archivedGone('riders', Buffer.from([0xff])))).toBe('key is not UTF-8');
  expect(validator.validate({ ...bare, keyBytes: Buffer.from('é'), valueBytes: null })).toBe(
    'key does not match its pattern',
  );
  // What reads records beside the projector says the same.
  const read = { ...bare, ...place, valueBytes: null, raw: () => expect.unreachable() };
  expect(decoded({ ...read, keyBytes: null, decoder: null })).toMatchObject({ undecodable: 'no key' });
  const batch = { ...read, keyBytes: null, decoder: 'batch too large' as const };
  expect(decoded(batch)).toMatchObject({ undecodable: validator.validate(batch) });
  expect(decoded(read)).toMatchObject({ ...place, key: 'r1', value: null, headers: [], rawValue: null });
});

const headerBytes = 10;

/** Bytes of records, and those with a byte changed, cut off or added behind the header: mostly no longer good ones. */
const bytesOf = (changes: fc.Arbitrary<Change>): fc.Arbitrary<{ topic: TopicName; key: Buffer; value: Buffer }> =>
  fc
    .tuple(
      changes.filter(({ value }) => value !== null),
      fc.constantFrom('key' as const, 'value' as const),
      fc.nat(),
      fc.nat(255),
      fc.constantFrom('keep', 'set', 'cut', 'insert'),
    )
    .map(([{ topic, key, value }, part, nth, byte, how]) => {
      const bytes = { topic, key: Buffer.from(key), value: encodeValue(topic, value as never) };
      const from = part === 'key' ? 0 : headerBytes;
      const whole = bytes[part];
      const at = from + (nth % Math.max(1, whole.length - from + 1));
      const before = whole.subarray(0, at);
      const put = Buffer.concat([before, Buffer.of(byte), whole.subarray(how === 'set' ? at + 1 : at)]);
      return { ...bytes, [part]: how === 'keep' ? whole : how === 'cut' ? before : put };
    });

// docs/rules.md#what-is-bad, #keys, #tombstones, #time-zones, #urls, #days-and-times, #rejected
it('bytes are bad for the reason that they can not be decoded for, else as the reference judges what they say', () => {
  fc.assert(
    fc.property(bytesOf(anyChange), ({ topic, key, value }) => {
      const fetched = { ...place, key, value, headers: [] };
      const record = deliveredRecord(topic, 0, fetched, writers, false) as EncodedRecord;
      const reason = new Validator().validate(record);
      const whole = decoded(record);
      if ('undecodable' in whole) expect(reason).toBe(whole.undecodable);
      else expect(reason === null).toBe(badness(whole as Change) === null);
    }),
    { numRuns: 4_000 },
  );
});
