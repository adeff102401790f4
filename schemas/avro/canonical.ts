import type { Type } from 'avsc';
import type { Cursor } from './avro-cursor.ts';
import { isArray, isEnum, isFixed, isMap, isRecord, isUnion } from './avro-type-kinds.ts';

/**
 * Moves the cursor over a value. False where our writer would make other bytes of that value, or none: a number in more
 * bytes than it takes, an array in several blocks, a text that is not UTF-8. Throws UndecodableError where the bytes
 * are not a value of the type.
 */
export type IsCanonical = (cursor: Cursor) => boolean;

/** Compiles the check for a type of ours, so that a value can be copied as it came without decoding it. */
export function compileIsCanonical(type: Type): IsCanonical {
  const text = `'use strict'; return (c) => ${check(type)};`;
  return new Function(text)() as IsCanonical;
}

const primitives: Record<string, string> = {
  null: 'true',
  boolean: '(c.boolean(), true)',
  int: 'c.isShortestInt()',
  long: 'c.isShortestLong()',
  float: '(c.skip(4), true)',
  double: '(c.skip(8), true)',
  string: 'c.isText()',
  bytes: 'c.isBytes()',
};

/** JavaScript for the check. Our types are not recursive, so that expressions end. */
function check(type: Type): string {
  const primitive = primitives[type.typeName];
  if (primitive !== undefined) return primitive;
  if (isEnum(type)) return `c.isIndexBelow(${type.symbols.length})`;
  if (isFixed(type)) return `(c.skip(${type.size}), true)`;
  if (isRecord(type)) return `(${type.fields.map((field) => check(field.type)).join(' && ') || 'true'})`;
  if (isArray(type)) return `c.isOneBlock((c) => ${check(type.itemsType)})`;
  // The entries of a map may be in another order once they are an object's.
  if (isMap(type)) return 'c.isOneBlock(() => false)';
  if (isUnion(type)) {
    const branches = type.types.map((branch, index) => `c.branch === ${index} ? ${check(branch)}`);
    return `(c.isIndexBelow(${type.types.length}) && (${branches.join(' : ')} : false))`;
  }
  return 'false';
}
