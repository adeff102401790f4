import type { Type, types } from 'avsc';

/** What a parsed type is, and the questions that schema resolution asks about it. */
export type Union = types.WrappedUnionType | types.UnwrappedUnionType;

export const isUnion = (type: Type): type is Union => type.typeName.startsWith('union:');
export const isRecord = (type: Type): type is types.RecordType =>
  type.typeName === 'record' || type.typeName === 'error';
export const isEnum = (type: Type): type is types.EnumType => type.typeName === 'enum';
export const isFixed = (type: Type): type is types.FixedType => type.typeName === 'fixed';
export const isArray = (type: Type): type is types.ArrayType => type.typeName === 'array';
export const isMap = (type: Type): type is types.MapType => type.typeName === 'map';

/** Logical types of primitive ones, which avsc does not keep. */
export const logicalTypes = new WeakMap<Type, string>();

export function nameOf(type: Type): string {
  if (isUnion(type)) return type.types.map(nameOf).join(' or ');
  const logical = logicalTypes.get(type);
  return logical === undefined ? (type.name ?? type.typeName) : `${logical} (${type.typeName})`;
}

/** False where both have a logical type, and not the same: its unit or its kind is another (docs/rules.md#schema-versions). */
export function isSameKind(writer: Type, reader: Type): boolean {
  const [has, wants] = [logicalTypes.get(writer), logicalTypes.get(reader)];
  return has === undefined || wants === undefined || has === wants;
}

export const unqualified = (name: string): string => name.slice(name.lastIndexOf('.') + 1);

/** A schema that nests deeper is refused, because the code that reads it recurses as deep. */
const nestingMax = 250;

/** Whether a value takes any bytes. If so, the remaining bytes limit the number of values. */
export function takesBytes(type: Type): boolean {
  // A type that was visited took no bytes, or is being visited. Neither needs another visit.
  const seen = new Set<Type>();
  const takes = (inner: Type, depth: number): boolean => {
    if (inner.typeName === 'null' || seen.has(inner)) return false;
    seen.add(inner);
    if (isFixed(inner)) return inner.size > 0;
    if (!isRecord(inner)) return true;
    assertDepth(depth);
    return inner.fields.some((field) => takes(field.type, depth + 1));
  };
  return takes(type, 0);
}

export function assertDepth(depth: number): void {
  if (depth > nestingMax) throw new Error(`its types nest deeper than ${nestingMax} levels`);
}
