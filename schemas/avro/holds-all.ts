import type { Type, types } from 'avsc';
import { isArray, isEnum, isFixed, isMap, isRecord, isUnion, writerField } from './avro-type-kinds.ts';

const widened: Record<string, readonly string[]> = {
  long: ['int'],
  double: ['int', 'float'],
  string: ['bytes'],
  bytes: ['string'],
};

/**
 * Whether the resolved record has everything that the writer's value has (docs/rules.md#raw-values). Fields that the
 * reader lacks are lost, and so are symbols that the enum's default replaces. In doubt the answer is no, which only
 * costs space.
 */
export function holdsAll(writer: Type, reader: Type): boolean {
  if (isUnion(writer)) return writer.types.every((branch) => holdsAll(branch, reader));
  if (isUnion(reader)) return reader.types.some((branch) => holdsAll(writer, branch));
  if (isRecord(writer)) return isRecord(reader) && holdsFields(writer, reader);
  if (isEnum(writer)) return isEnum(reader) && writer.symbols.every((symbol) => reader.symbols.includes(symbol));
  if (isFixed(writer)) return isFixed(reader) && writer.size === reader.size;
  if (isArray(writer)) return isArray(reader) && holdsAll(writer.itemsType, reader.itemsType);
  if (isMap(writer)) return isMap(reader) && holdsAll(writer.valuesType, reader.valuesType);
  return writer.typeName === reader.typeName || (widened[reader.typeName]?.includes(writer.typeName) ?? false);
}

function holdsFields(writer: types.RecordType, reader: types.RecordType): boolean {
  const wanted = new Map(reader.fields.map((field) => [writerField(field, writer), field]));
  return writer.fields.every((field) => {
    const into = wanted.get(field);
    return into !== undefined && holdsAll(field.type, into.type);
  });
}
