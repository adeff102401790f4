import avro, { type Schema } from 'avsc';
import { describe, expect, test } from 'vitest';
import { Cursor } from '../../../schemas/avro/avro-cursor.ts';
import { parseOurs, parseWriter } from '../../../schemas/avro/avro-types.ts';
import { compileDecoder } from '../../../schemas/avro/compile-decoder.ts';

// docs/rules.md#schema-versions
describe("a reader's own defaults and types", () => {
  const read = (writer: unknown, reader: unknown, value: unknown) => {
    const bytes = avro.Type.forSchema(structuredClone(writer) as Schema, { wrapUnions: true }).toBuffer(value);
    const ours = parseOurs(structuredClone(reader) as Schema);
    return compileDecoder(parseWriter(JSON.stringify(writer)), ours)(new Cursor().set(bytes, 0));
  };
  const record = (name: string, ...fields: object[]) => ({ type: 'record', name, fields });

  test("an enum's default stands for symbols that it lacks", () => {
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
    const writer = record('R', { name: 'at', type: { type, logicalType } });
    const reader = record('R', { name: 'at', type: { type: readerType, logicalType: readerLogical } });
    const maybe = record('R', { name: 'at', type: ['null', { type: readerType, logicalType: readerLogical }] });
    const value = { at: type === 'string' ? 'x' : 7 };
    if (fault === null) for (const one of [reader, maybe]) expect(read(writer, one, value)).toEqual(value);
    else {
      expect(() => read(writer, reader, value)).toThrow(fault);
      expect(() => read(writer, maybe, value)).toThrow();
    }
  });
});
