import avro, { type Schema } from 'avsc';
import { describe, expect, test, vi } from 'vitest';
import { topicSchemas } from '../../../schemas/avro/avro-types.ts';
import { decodeValue } from '../../../schemas/avro/codec.ts';
import { singleObjectHeader } from '../../../schemas/avro/single-object.ts';
import { WriterSchemas } from '../../../schemas/avro/writer-schemas.ts';
import type { TopicName } from '../../../schemas/events/records.ts';
import { sampleRecords } from '../../support/worlds/records.ts';

interface RecordSchema {
  type: 'record';
  name: string;
  namespace?: string;
  fields: { name: string; type: unknown; default?: unknown }[];
}

/** A copy of a topic's schema, changed. */
function schemaLike(topic: TopicName, change: (schema: RecordSchema) => void): RecordSchema {
  const schema = structuredClone(topicSchemas[topic]) as unknown as RecordSchema;
  change(schema);
  return schema;
}

const typeOf = (schema: RecordSchema, field: string, type: unknown) => {
  const found = schema.fields.find((candidate) => candidate.name === field)!;
  found.type = type;
  delete found.default;
};

/** What a reader makes of a value that was written by the given schema under registry id 7. */
function readWith(topic: TopicName, schema: unknown, value: unknown, references: string[] = []) {
  const writers = new WriterSchemas();
  const text = JSON.stringify(schema);
  writers.addRegistered(7, { schema: text, references });
  const registry = {};
  for (const reference of references) avro.Type.forSchema(JSON.parse(reference), { wrapUnions: true, registry });
  const body = avro.Type.forSchema(JSON.parse(text), { wrapUnions: true, registry }).toBuffer(value);
  return decodeValue(topic, Buffer.concat([Buffer.from([0, 0, 0, 0, 7]), body]), writers);
}

const rider = sampleRecords.riders;
const wrappedRider = { ...rider, name: { string: 'Ada' } };
const attendance = sampleRecords.attendance;

// docs/rules.md#schema-versions
describe("a writer's schema that differs from ours", () => {
  test('the same schema', () => {
    expect(readWith('riders', topicSchemas.riders, wrappedRider)).toEqual({ value: rider });
  });

  test('fields that ours lacks are stepped over, whatever their types', () => {
    const schema = schemaLike('riders', (it) => {
      it.fields.splice(1, 0, { name: 'tags', type: { type: 'map', values: ['null', 'double', 'bytes'] } });
      it.fields.splice(0, 0, {
        name: 'history',
        type: {
          type: 'array',
          items: {
            type: 'record',
            name: 'Change',
            fields: [
              { name: 'at', type: 'long' },
              { name: 'empty', type: 'null' },
            ],
          },
        },
      });
      it.fields.push(
        { name: 'ratio', type: 'float' },
        { name: 'level', type: { type: 'enum', name: 'Level', symbols: ['LOW', 'HIGH'] } },
        { name: 'mark', type: { type: 'fixed', name: 'Mark', size: 3 } },
        { name: 'nothings', type: { type: 'array', items: 'null' } },
        { name: 'next', type: ['null', 'Change'] },
      );
    });
    const value = {
      ...wrappedRider,
      tags: { a: { double: 1 }, b: null, c: { bytes: Buffer.from('xyz') } },
      // Wider than JavaScript's numbers, which must not matter in a field that nobody wants.
      history: [
        { at: 9007199254740990, empty: null },
        { at: 2, empty: null },
      ],
      ratio: 0.5,
      level: 'HIGH',
      mark: Buffer.from('abc'),
      nothings: [null, null, null],
      next: { Change: { at: 1, empty: null } },
    };
    // avsc names branches by their full names.
    value.next = { 'ridecalendar.Change': { at: 1, empty: null } } as never;
    expect(readWith('riders', schema, value)).toEqual({ value: rider });
  });

  test('fields that it lacks are filled in where ours have a default', () => {
    const schema = schemaLike('riders', (it) => {
      it.fields = it.fields.filter((field) => field.name !== 'name');
    });
    expect(readWith('riders', schema, rider)).toEqual({ value: { ...rider, name: null } });
  });

  test('a missing field without a default makes it incompatible', () => {
    const schema = schemaLike('riders', (it) => {
      it.fields = it.fields.filter((field) => field.name !== 'handle');
    });
    expect(readWith('riders', schema, wrappedRider)).toEqual({ bad: 'incompatible writer schema' });
  });

  test('fields in another order come back in ours', () => {
    const schema = schemaLike('attendance', (it) => it.fields.reverse());
    const decoded = readWith('attendance', schema, attendance);
    expect(decoded).toEqual({ value: attendance });
    expect('value' in decoded && Object.keys(decoded.value)).toEqual(Object.keys(attendance));
  });

  test('int for long and bytes for string are promoted, long for int is not', () => {
    const promoted = schemaLike('riders', (it) => {
      typeOf(it, 'revision', 'int');
      typeOf(it, 'handle', 'bytes');
      typeOf(it, 'name', 'string');
    });
    expect(readWith('riders', promoted, { ...rider, handle: Buffer.from('ada') })).toEqual({ value: rider });
    expect(readWith('riders', promoted, { ...rider, handle: Buffer.from([0xff]) })).toEqual({
      bad: 'text is not UTF-8',
    });
    const narrowed = schemaLike('attendance', (it) => typeOf(it, 'day', 'long'));
    expect(readWith('attendance', narrowed, attendance)).toEqual({ bad: 'incompatible writer schema' });
  });

  test('a union with more branches fails only with values of those', () => {
    const schema = schemaLike('riders', (it) => typeOf(it, 'name', ['int', 'string', 'null']));
    expect(readWith('riders', schema, wrappedRider)).toEqual({ value: rider });
    expect(readWith('riders', schema, { ...rider, name: null })).toEqual({ value: { ...rider, name: null } });
    expect(readWith('riders', schema, { ...rider, name: { int: 5 } })).toEqual({ bad: 'incompatible writer schema' });
  });

  test('a union where ours has none fails only with null', () => {
    const schema = schemaLike('riders', (it) => typeOf(it, 'handle', ['null', 'string']));
    expect(readWith('riders', schema, { ...wrappedRider, handle: { string: 'ada' } })).toEqual({ value: rider });
    expect(readWith('riders', schema, { ...wrappedRider, handle: null })).toEqual({
      bad: 'incompatible writer schema',
    });
  });

  // docs/rules.md#unknown-schema
  test('an enum with a symbol that ours lacks fails only with that symbol', () => {
    const schema = schemaLike('attendance', (it) =>
      typeOf(it, 'response', { type: 'enum', name: 'Response', symbols: ['MAYBE', 'GOING', 'NONE', 'CONFIRMED'] }),
    );
    expect(readWith('attendance', schema, attendance)).toEqual({ value: attendance });
    expect(readWith('attendance', schema, { ...attendance, response: 'MAYBE' })).toEqual({
      bad: 'unknown enum symbol',
    });
  });

  test('another namespace is the same record, another name is not', () => {
    const moved = schemaLike('attendance', (it) => {
      it.namespace = 'com.example.rides';
    });
    expect(readWith('attendance', moved, attendance)).toEqual({ value: attendance });
    const renamed = schemaLike('attendance', (it) => {
      it.name = 'Answer';
    });
    expect(readWith('attendance', renamed, attendance)).toEqual({ bad: 'incompatible writer schema' });
  });

  test('logical types do not matter: their plain types do', () => {
    const schema = schemaLike('attendance', (it) => {
      typeOf(it, 'day', 'int');
      typeOf(it, 'changed_at', { type: 'long', logicalType: 'timestamp-micros' });
    });
    expect(readWith('attendance', schema, attendance)).toEqual({ value: attendance });
  });

  test('defaults that avsc refuses are no reason to refuse the schema', () => {
    const schema = schemaLike('attendance', (it) => {
      it.fields[0]!.default = 17;
    });
    const writers = new WriterSchemas();
    writers.addRegistered(7, { schema: JSON.stringify(schema), references: [] });
    expect(writers.byId('attendance', 7)).toBeTypeOf('object');
  });

  test('schemas that it refers to are taken in', () => {
    const kind = { type: 'enum', name: 'DistrictKind', namespace: 'ridecalendar', symbols: ['CITY', 'DISTRICT'] };
    const schema = schemaLike('districts', (it) => typeOf(it, 'kind', 'ridecalendar.DistrictKind'));
    expect(readWith('districts', schema, sampleRecords.districts, [JSON.stringify(kind)])).toEqual({
      value: sampleRecords.districts,
    });
  });
});

describe('what is known', () => {
  test('an id that was not looked up yet is asked for', () => {
    const writers = new WriterSchemas();
    const bytes = Buffer.from([0, 0, 0, 1, 2, 0]);
    expect(decodeValue('rides', bytes, writers)).toEqual({ needs: 258 });
    writers.addRegistered(258, { schema: JSON.stringify(topicSchemas.rides), references: [] });
    expect(decodeValue('rides', bytes, writers)).toEqual({ bad: 'undecodable value' });
  });

  test('an id that the registry did not know is bad until it is time to ask again', () => {
    const writers = new WriterSchemas();
    const bytes = Buffer.from([0, 0, 0, 1, 2, 0]);
    writers.addRegistered(258, { bad: 'unknown schema id' });
    expect(decodeValue('rides', bytes, writers)).toEqual({ bad: 'unknown schema id' });
    const later = vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 30_001);
    expect(decodeValue('rides', bytes, writers)).toEqual({ needs: 258 });
    later.mockRestore();
  });

  test('an id below 1 is never asked for', () => {
    const writers = new WriterSchemas();
    expect(decodeValue('rides', Buffer.from([0, 0xff, 0xff, 0xff, 0xff, 0]), writers)).toEqual({
      bad: 'unknown schema id',
    });
    expect(decodeValue('rides', Buffer.alloc(8), writers)).toEqual({ bad: 'unknown schema id' });
  });

  test.each([
    'not JSON',
    '{"type":"object"}',
    '"unheard.of.Type"',
    '{"type":"record","name":"Rider"}',
    'null',
    '[[]]',
    '{"type":"record","name":"Rider","fields":[{"name":"a b","type":"int"}]}',
    `${'{"type":"array","items":'.repeat(20_000)}"int"${'}'.repeat(20_000)}`,
  ])('a text that is no Avro schema is unusable', (schema) => {
    const writers = new WriterSchemas();
    writers.addRegistered(7, { schema, references: [] });
    expect(writers.byId('riders', 7)).toBe('unusable writer schema');
  });

  test('a schema made known is found by its fingerprint', () => {
    const schema = schemaLike('riders', (it) => it.fields.push({ name: 'since', type: 'int' }));
    const type = avro.Type.forSchema(structuredClone(schema) as unknown as Schema, { wrapUnions: false });
    const bytes = Buffer.concat([singleObjectHeader(type), type.toBuffer({ ...rider, since: 2001 })]);
    const writers = new WriterSchemas();
    expect(decodeValue('riders', bytes, writers)).toEqual({ bad: 'unknown fingerprint' });
    writers.addKnown(JSON.stringify(schema));
    expect(decodeValue('riders', bytes, writers)).toEqual({ value: rider });
  });
});
