import avro from 'avsc';
import { describe, expect, test, vi } from 'vitest';
import { topicSchemas } from '../../../schemas/avro/avro-types.ts';
import { encodeValue } from '../../../schemas/avro/codec.ts';
import { fingerprintIn, singleObjectHeader } from '../../../schemas/avro/single-object.ts';
import { kindOf, type UndecodableReason } from '../../../schemas/avro/undecodable.ts';
import { WriterSchemas } from '../../../schemas/avro/writer-schemas.ts';
import type { TopicName } from '../../../schemas/events/records.ts';
import { decodeValue } from '../../support/worlds/judged-record.ts';
import { sampleRecords } from '../../support/worlds/records.ts';

interface RecordSchema {
  name: string;
  namespace?: string;
  fields: { name: string; type: unknown; default?: unknown }[];
}
type Change = (schema: RecordSchema) => unknown;

/** A copy of a topic's schema, changed, as a text. */
function schemaLike(topic: TopicName, change: Change): string {
  const schema = structuredClone(topicSchemas[topic]) as unknown as RecordSchema;
  change(schema);
  return JSON.stringify(schema);
}

const without =
  (name: string): Change =>
  (schema) =>
    Object.assign(schema, { fields: schema.fields.filter((field) => field.name !== name) });

/** Fields that have other types. */
const typed =
  (types: Record<string, unknown>): Change =>
  ({ fields }) => {
    for (const field of fields)
      if (field.name in types) Object.assign(field, { type: types[field.name], default: undefined });
  };

/** What a reader makes of a value that was written by the given schema under registry id 7, and whether it has all of it. */
function readWith(topic: TopicName, schema: string, value: unknown, references: string[]) {
  const writers = new WriterSchemas();
  writers.add(7, { schema, references });
  const registry = {};
  for (const reference of references) avro.Type.forSchema(JSON.parse(reference), { wrapUnions: true, registry });
  const body = avro.Type.forSchema(JSON.parse(schema), { wrapUnions: true, registry }).toBuffer(value);
  const decoder = writers.byName(topic, 7);
  const read = decodeValue(topic, Buffer.concat([Buffer.from([0, 0, 0, 0, 7]), body]), writers);
  return { ...read, holdsAll: typeof decoder === 'object' && decoder.holdsAll };
}

const { riders: rider, attendance, districts } = sampleRecords;
const wrappedRider = { ...rider, name: { string: 'Ada' } };
const enumOf = (name: string, ...symbols: string[]) => ({ type: 'enum', name, symbols });

const manyMore: Change = ({ fields }) => {
  const items = { type: 'record', name: 'Change', fields: [{ name: 'at', type: 'long' }] };
  fields.unshift({ name: 'history', type: { type: 'array', items } });
  fields.splice(2, 0, { name: 'tags', type: { type: 'map', values: ['null', 'double', 'bytes'] } });
  fields.push(
    { name: 'ratio', type: 'float' },
    { name: 'level', type: enumOf('Level', 'LOW', 'HIGH') },
    { name: 'mark', type: { type: 'fixed', name: 'Mark', size: 3 } },
    { name: 'nothings', type: { type: 'array', items: 'null' } },
    { name: 'next', type: ['null', 'Change'] },
  );
};
const riderWithMore = {
  ...wrappedRider,
  tags: { a: { double: 1 }, b: null, c: { bytes: Buffer.from('xyz') } },
  // Wider than JavaScript's numbers, which must not matter in a field that nobody wants.
  history: [{ at: 9007199254740990 }, { at: 2 }],
  ratio: 0.5,
  level: 'HIGH',
  mark: Buffer.from('abc'),
  nothings: [null, null, null],
  next: { 'ridecalendar.Change': { at: 1 } },
};

const promoted = typed({ revision: 'int', handle: 'bytes', name: 'string' });
const reversed: Change = ({ fields }) => fields.reverse();
const renamed: Change = (schema) => Object.assign(schema, { name: 'Answer' });
const threeBranches = typed({ name: ['int', 'string', 'null'] });
const maybeHandle = typed({ handle: ['null', 'string'] });
const maybeGoing = typed({ response: enumOf('Response', 'MAYBE', 'GOING', 'NONE', 'CONFIRMED') });
const maybe = { ...attendance, response: 'MAYBE' };
const riderOfUnion = { ...wrappedRider, handle: { string: 'ada' } };
const incompatible = 'incompatible writer schema';

// docs/rules.md#schema-versions, #unknown-schema, #raw-values
describe("a writer's schema that differs from ours, whether our record has all of the value", () => {
  test.each<[string, TopicName, Change, written: object, read: object | UndecodableReason, holdsAll: boolean]>([
    ['the same', 'riders', () => {}, wrappedRider, rider, true],
    ['more fields, of any types: they are stepped over', 'riders', manyMore, riderWithMore, rider, false],
    ['no field that has a default: it is filled in', 'riders', without('name'), rider, { ...rider, name: null }, true],
    ['no field that has none', 'riders', without('handle'), wrappedRider, incompatible, false],
    ['fields in another order: they come back in ours', 'attendance', reversed, attendance, attendance, true],
    ['narrower numbers, bytes for texts', 'riders', promoted, { ...rider, handle: Buffer.from('ada') }, rider, true],
    ['a wider number', 'attendance', typed({ day: 'long' }), attendance, incompatible, false],
    ['more branches in a union', 'riders', threeBranches, wrappedRider, rider, false],
    ['a branch that ours lacks', 'riders', threeBranches, { ...rider, name: { int: 5 } }, incompatible, false],
    ['a union where ours has none', 'riders', maybeHandle, riderOfUnion, rider, false],
    ['null where ours has none', 'riders', maybeHandle, { ...wrappedRider, handle: null }, incompatible, false],
    ['more symbols in an enum', 'attendance', maybeGoing, attendance, attendance, false],
    ['a symbol that ours lacks', 'attendance', maybeGoing, maybe, 'unknown enum symbol', false],
    ['another name', 'attendance', renamed, attendance, attendance, true],
    ['no logical types', 'attendance', typed({ day: 'int', changed_at: 'long' }), attendance, attendance, true],
    ['a type by its name alone', 'districts', typed({ kind: 'ridecalendar.DistrictKind' }), districts, districts, true],
  ])('%s', (_, topic, change, written, wanted, holdsAll) => {
    const kind = { ...enumOf('DistrictKind', 'CITY', 'DISTRICT'), namespace: 'ridecalendar' };
    const references = topic === 'districts' ? [JSON.stringify(kind)] : [];
    const read = readWith(topic, schemaLike(topic, change), written, references);
    const plain = 'bad' in read ? { ...read, bad: kindOf(read.bad) } : read;
    expect(plain).toEqual({ ...(typeof wanted === 'string' ? { bad: wanted } : { value: wanted }), holdsAll });
    if ('value' in read) expect(Object.keys(read.value)).toEqual(Object.keys(sampleRecords[topic]));
  });
});

describe('what is known', () => {
  const bytes = Buffer.from([0, 0, 0, 1, 2, 0]);

  test('an id that was not looked up yet is asked for, and again some time after the registry did not know it', () => {
    const writers = new WriterSchemas();
    expect(decodeValue('rides', bytes, writers)).toEqual({ needs: 258 });
    const now = vi.spyOn(performance, 'now').mockReturnValue(1_000);
    writers.add(258, 'unknown');
    now.mockReturnValue(30_999);
    expect(decodeValue('rides', bytes, writers)).toEqual({
      bad: expect.stringMatching(/^unknown schema id: got 258, .* known for rides: none\./),
    });
    now.mockReturnValue(31_001);
    expect(decodeValue('rides', bytes, writers)).toEqual({ needs: 258 });
    now.mockRestore();
    writers.add(258, { schema: JSON.stringify(topicSchemas.rides), references: [] });
    expect(decodeValue('rides', bytes, writers)).toEqual({ bad: 'undecodable value' });
    // An id below 1 is never asked for.
    for (const below of [Buffer.from('00ffffffff00', 'hex'), Buffer.alloc(8)])
      expect(decodeValue('rides', below, writers)).toMatchObject({
        bad: expect.stringMatching(/^unknown schema id: got (-1|0), /),
      });
  });

  test.each([
    ...['not JSON', '{"type":"object"}', '"unheard.of.Type"', '{"type":"record","name":"Rider"}', 'null', '[[]]'],
    '{"type":"record","name":"Rider","fields":[{"name":"a b","type":"int"}]}',
  ])('a text that is no Avro schema is unusable: %s', (schema) => {
    const writers = new WriterSchemas();
    writers.add(7, { schema, references: [] });
    expect(writers.byName('riders', 7)).toMatch('unusable writer schema: 7 is no Avro schema');
  });

  test('a schema with a default that avsc refuses is of use', () => {
    const schema = schemaLike('attendance', ({ fields }) => Object.assign(fields[0]!, { default: 17 }));
    const writers = new WriterSchemas();
    writers.add(7, { schema, references: [] });
    expect(writers.byName('attendance', 7)).toBeTypeOf('object');
  });

  test('a schema made known is found by its fingerprint', () => {
    const schema = schemaLike('riders', ({ fields }) => fields.push({ name: 'since', type: 'int' }));
    const type = avro.Type.forSchema(JSON.parse(schema), { wrapUnions: false });
    const value = Buffer.concat([singleObjectHeader(type), type.toBuffer({ ...rider, since: 2001 })]);
    const writers = new WriterSchemas();
    expect(decodeValue('riders', value, writers)).toEqual({ needs: fingerprintIn(value) });
    writers.addKnown(schema);
    expect(decodeValue('riders', value, writers)).toEqual({ value: rider });
  });
  // Made by hamba/avro 2.31 (soe.BuildHeader): docs/rules.md#unknown-schema
  test.each<[TopicName, string]>([
    ['metros', 'ef58164cddef9554'],
    ['districts', 'da58d442d4e5b491'],
    ['riders', '2ccd38d6bfd9c7ef'],
    ['rides', '5bc5687f627463d5'],
    ['nights', 'e3039999f87dd347'],
    ['attendance', 'c75f96df0c42d487'],
    ['relations', '2c0ec68c68c77b0a'],
    ['developer-keys', 'b2161033eb91369d'],
  ])('%s is known by the fingerprint of a library that leaves logical types in, too', (topic, fingerprint) => {
    const own = encodeValue(topic, sampleRecords[topic] as never);
    const value = Buffer.concat([Buffer.from(`c301${fingerprint}`, 'hex'), own.subarray(10)]);
    expect(decodeValue(topic, value, new WriterSchemas())).toEqual({ value: sampleRecords[topic] });
  });
});
