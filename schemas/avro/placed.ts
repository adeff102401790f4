import type { Type } from 'avsc';
import type { Cursor } from './avro-cursor.ts';
import { isArray, isRecord, isUnion } from './avro-type-kinds.ts';

/** What a decoder with `textsInPlace` returns: each text is the result of Cursor.place. */
export type Placed<T> = T extends string
  ? string extends T
    ? number
    : T
  : T extends readonly (infer Item)[]
    ? Placed<Item>[]
    : T extends Uint8Array
      ? T
      : T extends object
        ? { [Field in keyof T]: Placed<T[Field]> }
        : T;

/** Decodes the texts of a placed value. The cursor must not have moved on since. Throws UndecodableError. */
export type Spell<T> = (placed: Placed<T>, cursor: Cursor) => T;

/** Compiles a Spell for a type of ours. Each of its unions is of null and one other type. */
export function compileSpell<T>(type: Type): Spell<T> {
  const functions: string[] = [];
  const text = `return (v, c) => ${spelled(type, 'v', functions)};`;
  return new Function(`'use strict';\n${functions.join('\n')}\n${text}`)() as Spell<T>;
}

/** JavaScript for a value with its texts. `value`: an expression without side effects. */
function spelled(type: Type, value: string, functions: string[]): string {
  if (type.typeName === 'string') return `c.textAt(${value})`;
  if (isUnion(type)) {
    const branch = type.types.find(({ typeName }) => typeName !== 'null')!;
    const some = spelled(branch, value, functions);
    return some === value ? value : `(${value} === null ? null : ${some})`;
  }
  if (isArray(type)) {
    const item = spelled(type.itemsType, 'one', functions);
    return item === 'one' ? value : `${value}.map((one) => ${item})`;
  }
  if (!isRecord(type)) return value;
  const members = type.fields.map(({ name, type: field }) => {
    const key = JSON.stringify(name);
    return `${key}: ${spelled(field, `v[${key}]`, functions)}`;
  });
  const name = `f_${functions.length}`;
  functions.push(`function ${name}(v, c) { return { ${members.join(', ')} }; }`);
  return `${name}(${value}, c)`;
}
