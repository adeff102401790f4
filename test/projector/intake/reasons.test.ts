import avsc from 'avsc';
import { expect, it } from 'vitest';
import { whyBad } from '../../../projector/intake/validator.ts';
import { topicSchemas, topicTypes } from '../../../schemas/avro/avro-types.ts';
import { decoderFor, encodeValue, isNeeded } from '../../../schemas/avro/codec.ts';
import { singleObjectHeader } from '../../../schemas/avro/single-object.ts';
import { WriterSchemas } from '../../../schemas/avro/writer-schemas.ts';
import { urlCharacters, urlPattern } from '../../../schemas/events/patterns.ts';
import type { AnyRecord, TopicName } from '../../../schemas/events/records.ts';
import { dayMax, dayMin } from '../../../schemas/views/days.ts';
import { sampleRecords } from '../../support/worlds/records.ts';

const sampleKeys: Partial<Record<TopicName, string>> = {
  metros: 'portland',
  riders: 'r0001',
  rides: 'ride0001',
  nights: 'ride0001/2015-06-13',
  attendance: 'ride0001/2015-06-13/r0001',
};

/** Why a record is bad whose value begins with this header, or is of the registry's schema 7. */
function why(
  topic: TopicName,
  value: Buffer | null,
  key: string | Buffer | null = sampleKeys[topic]!,
  schema?: object,
) {
  const writers = new WriterSchemas();
  if (schema) writers.add(7, { schema: JSON.stringify(schema), references: [] });
  const found = value && decoderFor(topic, value, writers);
  const decoder = isNeeded(found) ? writers.whyUnknown(topic, found.needs) : found;
  return whyBad({ topic, keyBytes: key === null ? null : Buffer.from(key), valueBytes: value, decoder });
}

const changed = (topic: TopicName, changes: object) =>
  encodeValue(topic, { ...sampleRecords[topic], ...changes } as AnyRecord as never);
const hex = (text: string) => Buffer.from(text, 'hex');
const ours = (topic: TopicName) => singleObjectHeader(topicTypes[topic]).toString('hex');

type Field = { name: string; type: unknown };
/** A value of the registry's schema 7, in which some fields have another type, or none, and its reason. */
function whyOf(topic: TopicName, types: Record<string, unknown>, value: object) {
  const schema = structuredClone(topicSchemas[topic]) as unknown as { fields: Field[] };
  schema.fields = schema.fields.filter((field) => types[field.name] !== null);
  for (const field of schema.fields)
    if (field.name in types) Object.assign(field, { type: types[field.name], default: undefined });
  const type = avsc.Type.forSchema(structuredClone(schema) as never, { wrapUnions: true });
  const bytes = Buffer.concat([hex('0000000007'), type.toBuffer({ ...sampleRecords[topic], ...value })]);
  return why(topic, bytes, sampleKeys[topic], schema);
}

// docs/rules.md#reasons
it('a reason names the field and the rule, and is printed as it is, also in lines of JSON', () => {
  const notAvro = 'not Avro: want C3 01 and a fingerprint, or 00 and a schema id, first; it';
  const rsvpKey = 'want ride/day/rider, with ride ^[a-z0-9]{4,32}$, day YYYY-MM-DD, rider ^[A-Za-z0-9_-]{1,64}$';
  const reasons: Record<string, string | null> = {
    [`unknown fingerprint: got c3010000000000000000, which is in none of this release, WRITER_SCHEMAS and the view store; known for rides: ${ours('rides')}, c3015bc5687f627463d5. Publish with schemas/events/rides.avsc (${ours('rides')}), or put the writer's schema into WRITER_SCHEMAS. Read with ours the value does not fit (undecodable value: field ride: want string): compare the fields there and before`]:
      why('rides', hex(`c301${'00'.repeat(8)}02`)),
    'unknown schema id: got 8, which no registry (SCHEMA_REGISTRY_URL) has; known for rides: none. Register it there, or publish with C3 01 and the fingerprint of schemas/events/rides.avsc':
      why('rides', hex('000000000802')),
    [`incompatible writer schema: ${ours('riders')}, ridecalendar.Rider of topic riders: field ride is missing, and has no default`]:
      why('rides', changed('riders', {})),
    [`${notAvro} begins with 7b, as JSON does`]: why('rides', Buffer.from('{"ride":"taco"}')),
    [`${notAvro} begins with 4f, as an Avro file does`]: why('rides', hex('4f626a01')),
    [`${notAvro} is empty, and a tombstone is null`]: why('rides', hex('')),
    'incompatible writer schema: 7, ridecalendar.Attendance: field day: want date (int), got string': whyOf(
      'attendance',
      { day: 'string' },
      { day: '2015-06-13' },
    ),
    'incompatible writer schema: field handle: want string, got null': whyOf(
      'riders',
      { handle: ['null', 'string'], name: 'string' },
      { handle: null },
    ),
    'unknown enum symbol: field response: want one of NONE, GOING, CONFIRMED': whyOf(
      'attendance',
      { response: { type: 'enum', name: 'Response', symbols: ['going'] } },
      { response: 'going' },
    ),
    'trailing bytes: 1 after the last field': why('attendance', Buffer.concat([changed('attendance', {}), hex('00')])),
    'undecodable value: field changed_at: want timestamp-millis (long)': why(
      'attendance',
      changed('attendance', {}).subarray(0, -1),
    ),
    [`no key: ${rsvpKey}`]: why('attendance', changed('attendance', {}), null),
    'key does not match its pattern: field ride: want ^[a-z0-9]{4,32}$': why('attendance', null, 'a b/2015-06-13/r1'),
    'key does not match its pattern: field day: want YYYY-MM-DD': why('attendance', null, 'ride0001/13.6.2015/r1'),
    [`key does not match its pattern: ${rsvpKey}`]: why('attendance', null, 'ride0001/2015-06-13'),
    'key is not UTF-8': why('riders', changed('riders', {}).subarray(0, -1), hex('ff')),
    'key disagrees with value: field rider: want what the key has': why(
      'attendance',
      changed('attendance', { rider: 'somebody' }),
    ),
    'rider related to themself: field other: want another rider than in field rider': why('relations', null, 'me/me'),
    "url does not match its pattern: field url: want http:// or https://, then only A-Z a-z 0-9 and ._~:/?#@!$&'()*+,;=%[]-":
      why('nights', changed('nights', { url: 'nowhere' })),
    'time outside the day: field meet_time: want milliseconds since midnight, from 0 to 86399999': why(
      'nights',
      changed('nights', { meet_time: 86_400_000 }),
    ),
    [`day outside years 0001 to 9999: field day: want days since 1970-01-01, from ${dayMin} to ${dayMax}`]: why(
      'nights',
      changed('nights', { day: dayMax + 1 }),
    ),
    'time zone is not in the IANA database: field time_zone: want a Zone or Link name exactly as spelled there': why(
      'metros',
      changed('metros', { time_zone: 'PST' }),
    ),
  };
  for (const [wanted, reason] of Object.entries(reasons))
    expect([reason, JSON.stringify(reason)]).toEqual([wanted, `"${wanted}"`]);
  const fits = why('riders', Buffer.concat([hex(`c301${'00'.repeat(8)}`), changed('riders', {}).subarray(10)]));
  expect(fits).toMatch(
    /WRITER_SCHEMAS\. Read with ours the value fits: compare names, symbols, unions, and the fingerprint itself \(CRC-64-AVRO /,
  );
});

it('the characters that the reason names for a url are those of its pattern', () => {
  const ascii = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code));
  const allowed = ascii.filter((character) => urlPattern.test(`https://a${character}`));
  expect(allowed).toEqual(
    ascii.filter((character) => /[A-Za-z0-9]/.test(character) || urlCharacters.includes(character)),
  );
});

it('a reason ends, however long the names in a schema are', () => {
  const schema = { type: 'record', name: 'x'.repeat(100_000), fields: [] };
  expect(why('riders', hex('0000000007'), 'r1', schema)).toHaveLength(1_000);
});
