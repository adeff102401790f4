import type { Type, types } from 'avsc';

/** What a parsed type is, and what schema resolution asks of it. */
export type Union = types.WrappedUnionType | types.UnwrappedUnionType;

export const isUnion = (type: Type): type is Union => type.typeName.startsWith('union:');
export const isRecord = (type: Type): type is types.RecordType =>
  type.typeName === 'record' || type.typeName === 'error';
export const isEnum = (type: Type): type is types.EnumType => type.typeName === 'enum';
export const isFixed = (type: Type): type is types.FixedType => type.typeName === 'fixed';
export const isArray = (type: Type): type is types.ArrayType => type.typeName === 'array';
export const isMap = (type: Type): type is types.MapType => type.typeName === 'map';
export const nameOf = (type: Type): string => type.name ?? type.typeName;
export const unqualified = (name: string): string => name.slice(name.lastIndexOf('.') + 1);

/** The writer's field for one of the reader's: of its name, else of one of its aliases. */
export function writerField(field: types.Field, writer: types.RecordType): types.Field | undefined {
  for (const name of [field.name, ...field.aliases]) {
    const found = writer.fields.find((candidate) => candidate.name === name);
    if (found) return found;
  }
  return undefined;
}

/** Whether a value takes any bytes at all: then what is left of them bounds how many values there can be. */
export function takesBytes(type: Type, within: ReadonlySet<Type> = new Set()): boolean {
  if (type.typeName === 'null' || within.has(type)) return false;
  if (isFixed(type)) return type.size > 0;
  if (!isRecord(type)) return true;
  const inside = new Set(within).add(type);
  return type.fields.some((field) => takesBytes(field.type, inside));
}
