import fc from 'fast-check';
import type { Reject } from '../../../projector/ports/event-log.ts';
import { topicSchemas } from '../../../schemas/avro/avro-types.ts';
import { RecordKey } from '../../../schemas/events/record-keys.ts';
import { byTopic, type TopicName, type TopicRecords } from '../../../schemas/events/records.ts';
import * as log from '../../reference/example-log.ts';

/** The parts of an Avro schema that say what its values are. */
type Schema =
  | string
  | Schema[]
  | { type: 'record'; fields: { name: string; type: Schema }[] }
  | { type: 'enum'; symbols: string[] }
  | { type: 'array'; items: Schema }
  | { type: 'fixed'; size: number };

/** Any value of an Avro schema, as its decoder gives it. */
function valueArb(schema: Schema): fc.Arbitrary<unknown> {
  if (Array.isArray(schema)) return fc.oneof(...schema.map(valueArb));
  if (typeof schema === 'string') return primitiveArbs[schema]!;
  switch (schema.type) {
    case 'record':
      return fc.record(Object.fromEntries(schema.fields.map(({ name, type }) => [name, valueArb(type)])));
    case 'enum':
      return fc.constantFrom(...schema.symbols);
    case 'array':
      return fc.array(valueArb(schema.items), { maxLength: 5 });
    case 'fixed':
      return bytes(schema.size);
    default:
      // A logical type.
      return valueArb((schema as { type: Schema }).type);
  }
}

const bytes = (length: number) =>
  fc.uint8Array({ minLength: length, maxLength: length }).map((array) => Buffer.from(array));

const primitiveArbs: Record<string, fc.Arbitrary<unknown>> = {
  null: fc.constant(null),
  boolean: fc.boolean(),
  int: fc.integer(),
  long: fc.maxSafeInteger(),
  string: fc.string({ unit: 'grapheme', maxLength: 40 }),
};

/** Arbitrary records of every topic, as the schemas allow them: whether they make sense is the projector's business. */
export const arbitraryRecords = byTopic((topic) => valueArb(topicSchemas[topic] as Schema)) as {
  [Topic in TopicName]: fc.Arbitrary<TopicRecords[Topic]>;
};

/** One record of every topic, plain and always the same. */
export const sampleRecords: TopicRecords = {
  metros: log.metro('portland', { name: 'Portland' }).value,
  districts: log.district('kenton', { metro: 'portland', name: 'Kenton' }).value,
  riders: log.rider('r0001', { handle: 'ada', name: 'Ada' }).value,
  rides: log.ride('ride0001', {
    title: 'Bridges',
    type: 'social',
    metro: 'portland',
    distance: 'UNDER_5',
    leaders: ['r0001'],
    url: 'https://rides.example/r/ride0001',
  }).value,
  nights: log.night('ride0001', '2015-06-13', {
    meet_time: 68_400_000,
    ...log.place({ place_name: 'Fountain', district: 'kenton', show_neighbourhood: true }),
    url: 'https://rides.example/r/ride0001',
  }).value,
  attendance: log.says('r0001', 'GOING', 'ride0001', '2015-06-13').value,
  relations: log.marks('r0001', 'r0002', 'follows').value,
  'developer-keys': { key_id: 'k1', key_hash: Buffer.alloc(32, 7), label: null, revision: 1, changed_at: 0 },
};

/** A rider's record, before it has a place. */
export const rider = (key: string, timestampMs = 1_700_000_000_000) => ({
  key,
  value: { ...sampleRecords.riders, rider: key },
  timestampMs,
});

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

/** Parses a key that was checked before. Throws for a bad key: folding it would change another key's fact. */
export function recordKey(topic: TopicName, key: string): RecordKey {
  const made = new RecordKey();
  const fault = made.set(topic, Buffer.from(key));
  if (fault) throw new Error(`Cannot take a key of ${topic} apart: ${fault}`);
  return made;
}
