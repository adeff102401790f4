import { type Schema, Type } from 'avsc';
import { describe, expect, test } from 'vitest';
import { Cursor } from '../../../schemas/avro/avro-cursor.ts';
import { parseOurs, parseWriter, topicSchemas } from '../../../schemas/avro/avro-types.ts';
import { compileDecoder } from '../../../schemas/avro/compile-decoder.ts';
import { WriterSchemas } from '../../../schemas/avro/writer-schemas.ts';
import { decodeValue } from '../../support/worlds/judged-record.ts';

/** What a registry may hold: schemas by which few bytes, or none, stand for very much (docs/rules.md#what-is-bad). */

const record = (name: string, ...types: unknown[]) => ({
  type: 'record',
  name,
  fields: types.map((type, i) => ({ name: `f${i}`, type })),
});

/** Records of three records each, so many levels down to the innermost type. */
const tripled = (levels: number, innermost: 'int' | { type: string; name: string }): unknown => {
  if (levels === 0) return innermost;
  const again = levels > 1 ? `Level${levels - 1}` : innermost === 'int' ? 'int' : innermost.name;
  return record(`Level${levels}`, tripled(levels - 1, innermost), again, again);
};

/** A record of one record, so many levels down to an int. */
const nested = (levels: number): unknown => (levels === 0 ? 'int' : record(`Nest${levels}`, nested(levels - 1)));

const rider = { rider: 'r1', handle: 'ana', name: null, revision: 1, changed_at: 2 };
const riderBytes = Buffer.from('047231' + '06616e61' + '00' + '02' + '04', 'hex');

const ours = topicSchemas.riders as { fields: object[] };
const schemaWith = (type: unknown) => JSON.stringify({ ...ours, fields: [...ours.fields, { name: 'more', type }] });

/** What a value of riders gives whose writer's schema has one field more, with these bytes. */
function withMore(type: unknown, more: Buffer, references: string[] = [], schema = schemaWith(type)) {
  const writers = new WriterSchemas();
  writers.add(1, { schema, references });
  return decodeValue('riders', Buffer.concat([Buffer.from('0000000001', 'hex'), riderBytes, more]), writers);
}

describe('a field that our schema lacks', () => {
  test('of many levels of three empty records each is bad, as is a list of very many of them', () => {
    const many = Buffer.from('feffffffffffff1f00', 'hex');
    expect(withMore(tripled(100, record('Empty')), Buffer.alloc(0))).toEqual({ bad: 'too many steps to decode' });
    expect(withMore({ type: 'array', items: record('Empty') }, many)).toEqual({ bad: 'too many steps to decode' });
  });

  test('that takes many more steps than it has bytes is bad', () => {
    const items = 20_000;
    const list = Buffer.concat([Type.forSchema('long').toBuffer(items), Buffer.alloc(items + 1)]);
    expect(withMore({ type: 'array', items: nested(5) }, list)).toEqual({ value: rider });
    expect(withMore({ type: 'array', items: nested(100) }, list)).toEqual({ bad: 'too many steps to decode' });
  });

  const list = record('Node', 'int', ['null', 'Node']);
  const chain = (length: number) => Buffer.from(`${'0002'.repeat(length - 1)}0000`, 'hex');

  test('of a type that holds itself is good up to 500 levels, those around it counted, and bad beyond', () => {
    expect(withMore(list, chain(499))).toEqual({ value: rider });
    expect(withMore(list, chain(500))).toEqual({ bad: 'nested too deeply' });
    expect(withMore(list, chain(500_000))).toEqual({ bad: 'nested too deeply' });
  });

  test('of a type that always holds itself is bad: it has no value', () => {
    const endless = record('Endless', 'Endless');
    expect(withMore(endless, Buffer.alloc(0))).toEqual({ bad: 'nested too deeply' });
    expect(withMore(['null', endless], Buffer.of(0))).toEqual({ value: rider });
  });
});

describe("a writer's schema", () => {
  test('of 256 levels, or of 100,000 types which name one another in a row, is unusable', () => {
    const type = `${'{"type":"array","items":'.repeat(256)}"int"${'}'.repeat(256)}`;
    const row = (i: number) => JSON.stringify(record(`Row${i}`, i === 0 ? 'int' : `Row${i - 1}`));
    const references = Array.from({ length: 100_000 }, (_, i) => row(i));
    for (const read of [
      withMore(null, Buffer.alloc(1), [], schemaWith(0).replace('"type":0', `"type":${type}`)),
      withMore('Row99999', Buffer.alloc(1), references),
    ])
      expect(read).toMatchObject({ bad: expect.stringMatching('unusable writer schema: 1 is') });
  });

  test('whose unions fail branch by branch is looked at once a pair of types', () => {
    // Each level's union has two records that only fail at the innermost level.
    const levels = 40;
    const names = (n: number): unknown => (n === 0 ? 'int' : [`a${n}.N`, `b${n}.N`]);
    const both = (n: number): unknown =>
      n === 0 ? 'int' : [record(`a${n}.N`, both(n - 1)), record(`b${n}.N`, names(n - 1))];
    const reader = { type: 'record', name: 'N', fields: [{ name: 'f0', type: ['null', 'N'] }] };
    const parsed = parseWriter(JSON.stringify(both(levels)));
    expect(() => compileDecoder(parsed, parseOurs(reader as Schema))).toThrow('got int');
  });
});

// docs/rules.md#schema-versions
const read = (writer: unknown, reader: unknown, value: unknown) => {
  const bytes = Type.forSchema(structuredClone(writer) as Schema, { wrapUnions: true }).toBuffer(value);
  const ours = parseOurs(structuredClone(reader) as Schema);
  return compileDecoder(parseWriter(JSON.stringify(writer)), ours)(new Cursor().set(bytes, 0));
};
const recordOf = (...types: unknown[]) => record('R', ...types);

test("a reader's enum has a default, which stands for symbols that it lacks", () => {
  const writer = { type: 'enum', name: 'Kind', symbols: ['A', 'B'] };
  expect(read(writer, { type: 'enum', name: 'Kind', symbols: ['A', 'X'], default: 'X' }, 'B')).toBe('X');
});

test.each([
  ['long', 'timestamp-millis', 'long', 'timestamp-millis', null],
  ['long', 'timestamp-micros', 'long', undefined, null],
  ['long', 'timestamp-micros', 'long', 'timestamp-millis', 'timestamp-millis (long), got timestamp-micros (long)'],
  ['int', 'date', 'long', 'timestamp-millis', 'want timestamp-millis (long), got date (int)'],
  ['int', 'date', 'int', 'time-millis', 'want time-millis (int), got date (int)'],
  ['long', 'time-micros', 'int', 'time-millis', 'want time-millis (int), got time-micros (long)'],
  ['string', 'date', 'int', 'date', 'want date (int), got date (string)'],
])('%s %s is read as %s %s, or not: %#', (type, logicalType, readerType, readerLogical, fault) => {
  // As a field, and as one in a union, where the other branch would be taken.
  const writer = recordOf({ type, logicalType });
  const reader = recordOf({ type: readerType, logicalType: readerLogical });
  const maybe = recordOf(['null', { type: readerType, logicalType: readerLogical }]);
  const value = { f0: type === 'string' ? 'x' : 7 };
  if (fault === null) for (const one of [reader, maybe]) expect(read(writer, one, value)).toEqual(value);
  else {
    expect(() => read(writer, reader, value)).toThrow(fault);
    expect(() => read(writer, maybe, value)).toThrow();
  }
});
