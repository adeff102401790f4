import fc from 'fast-check';
import type { Reject } from '../../../projector/ports/event-log.ts';
import { RecordKey } from '../../../schemas/events/record-keys.ts';
import type { TopicName, TopicRecords } from '../../../schemas/events/records.ts';

/** Arbitrary records of every topic, as the schemas allow them: whether they make sense is the projector's business. */
const text = fc.string({ unit: 'grapheme', maxLength: 40 });
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: null });
const int = fc.integer();
const long = fc.maxSafeInteger();
const stamps = { revision: long, changed_at: long };

export const arbitraryRecords: { [Topic in TopicName]: fc.Arbitrary<TopicRecords[Topic]> } = {
  metros: fc.record({ metro: text, name: text, time_zone: text, ...stamps }),
  districts: fc.record({
    district: text,
    metro: text,
    name: text,
    kind: fc.constantFrom('DISTRICT', 'CITY'),
    ...stamps,
  }),
  riders: fc.record({ rider: text, handle: text, name: maybe(text), ...stamps }),
  rides: fc.record({
    ride: text,
    title: text,
    description: maybe(text),
    type: text,
    metro: text,
    distance: maybe(fc.constantFrom('UNDER_5', 'FROM_5_TO_10', 'FROM_10_TO_20', 'FROM_20_TO_40', 'OVER_40')),
    audience: maybe(fc.constantFrom('GENERAL', 'FAMILY_FRIENDLY', 'ADULTS_21_PLUS')),
    leaders: fc.array(text, { maxLength: 5 }),
    posted: fc.boolean(),
    url: text,
    ...stamps,
  }),
  nights: fc.record({
    ride: text,
    day: int,
    meet_time: maybe(int),
    status: fc.constantFrom('ON', 'CANCELLED'),
    cancellation_reason: maybe(text),
    meeting: maybe(
      fc.record({
        place_name: maybe(text),
        district: maybe(text),
        secret: fc.boolean(),
        show_neighbourhood: fc.boolean(),
      }),
    ),
    url: text,
    ...stamps,
  }),
  attendance: fc.record({
    ride: text,
    day: int,
    rider: text,
    response: fc.constantFrom('NONE', 'GOING', 'CONFIRMED'),
    saved: fc.boolean(),
    ...stamps,
  }),
  relations: fc.record({
    rider: text,
    other: text,
    follows: fc.boolean(),
    close: fc.boolean(),
    flagged: fc.boolean(),
    blocked: fc.boolean(),
    ...stamps,
  }),
  'developer-keys': fc.record({
    key_id: text,
    key_hash: fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes)),
    label: maybe(text),
    ...stamps,
  }),
};

/** One record of every topic, plain and always the same. */
export const sampleRecords: TopicRecords = {
  metros: { metro: 'portland', name: 'Portland', time_zone: 'America/Los_Angeles', revision: 1, changed_at: 0 },
  districts: { district: 'kenton', metro: 'portland', name: 'Kenton', kind: 'DISTRICT', revision: 1, changed_at: 0 },
  riders: { rider: 'r0001', handle: 'ada', name: 'Ada', revision: 1, changed_at: 0 },
  rides: {
    ride: 'ride0001',
    title: 'Bridges',
    description: null,
    type: 'social',
    metro: 'portland',
    distance: 'UNDER_5',
    audience: null,
    leaders: ['r0001'],
    posted: true,
    url: 'https://rides.example/r/ride0001',
    revision: 1,
    changed_at: 0,
  },
  nights: {
    ride: 'ride0001',
    day: 16599,
    meet_time: 68_400_000,
    status: 'ON',
    cancellation_reason: null,
    meeting: { place_name: 'Fountain', district: 'kenton', secret: false, show_neighbourhood: true },
    url: 'https://rides.example/r/ride0001',
    revision: 1,
    changed_at: 0,
  },
  attendance: {
    ride: 'ride0001',
    day: 16599,
    rider: 'r0001',
    response: 'GOING',
    saved: false,
    revision: 1,
    changed_at: 0,
  },
  relations: {
    rider: 'r0001',
    other: 'r0002',
    follows: true,
    close: false,
    flagged: false,
    blocked: false,
    revision: 1,
    changed_at: 0,
  },
  'developer-keys': { key_id: 'k1', key_hash: Buffer.alloc(32, 7), label: null, revision: 1, changed_at: 0 },
};

/** Parses a key that was checked before. Throws for a bad key: folding it would change another key's fact. */
/** A bad record as it is set aside, of `nights/2` unless told otherwise. */
export const rejectAt = (offset: number, more: Partial<Reject> = {}): Reject => ({
  topic: 'nights',
  partition: 2,
  offset,
  timestampMs: 1_700_000_000_000,
  reason: 'unknown schema id',
  raw: {
    key: Buffer.from([0xff, offset]),
    value: Buffer.from([0, 0, 0, 0, 9]),
    headers: { trace: Buffer.from('x'), __proto__x: Buffer.alloc(0) },
  },
  ...more,
});

export function recordKey(topic: TopicName, key: string): RecordKey {
  const made = new RecordKey();
  const fault = made.set(topic, Buffer.from(key));
  if (fault) throw new Error(`Cannot take a key of ${topic} apart: ${fault}`);
  return made;
}
