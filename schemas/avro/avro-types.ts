import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import avro, { type Schema, type Type } from 'avsc';
import { byTopic, topicNames } from '../events/records.ts';
import { Cursor } from './avro-cursor.ts';
import { assertDepth, logicalTypes } from './avro-type-kinds.ts';

/** Our own Avro schemas (`schemas/events/*.avsc`; docs/rules.md#fields-of-records), and parsing of other schemas. */
const folder = join(import.meta.dirname, '../events');

const complexTypes = new Set(['record', 'error', 'enum', 'array', 'map', 'fixed']);
const primitiveTypes = new Set(['null', 'boolean', 'int', 'long', 'float', 'double', 'bytes', 'string']);

/** avsc's position in a buffer, as its types use it. */
interface Tap {
  buf: Buffer;
  pos: number;
}

const avscMin = -(2 ** 52);
const avscMax = 2 ** 53 - 2;

const cursor = new Cursor();

/**
 * A long of any size: a bigint if it is not a safe integer. avsc doubles a negative number before it subtracts one, which is
 * inexact below -2^52 (-4503599627370497 would be written as 4503599627370496), and refuses 2^53 - 1, which is exact.
 */
class ExactLongType extends (avro.types.LongType as unknown as new () => {
  _write(tap: Tap, value: unknown): void;
}) {
  _read(tap: Tap): number | bigint {
    const value = cursor.set(tap.buf, tap.pos).long64();
    tap.pos = cursor.pos;
    return value;
  }

  override _write(tap: Tap, value: unknown): void {
    const isInexact = Number.isSafeInteger(value) && ((value as number) < avscMin || (value as number) > avscMax);
    if (isInexact || typeof value === 'bigint') writeBig(tap, BigInt(value as number | bigint));
    else super._write(tap, value);
  }
}

/** A number that is not a safe integer is a bigint: a revision may be in nanoseconds. */
function writeBig(tap: Tap, value: bigint): void {
  let rest = BigInt.asUintN(64, (value << 1n) ^ (value >> 63n));
  for (; rest > 0x7fn; rest >>= 7n) tap.buf[tap.pos++] = 0x80 | Number(rest & 0x7fn);
  tap.buf[tap.pos++] = Number(rest);
}

const makeLong = () => new ExactLongType() as unknown as Type;
const exactLongType = makeLong();

/** A long of any size, and primitive types that have a logical one. */
function typeHook(node: Schema): Type | undefined {
  const { type, logicalType } = node as { type?: string; logicalType?: string };
  if (type === undefined || !primitiveTypes.has(type)) return undefined;
  if (logicalType === undefined) return type === 'long' ? exactLongType : undefined;
  const made = type === 'long' ? makeLong() : avro.Type.forSchema({ type } as Schema);
  logicalTypes.set(made, logicalType);
  return made;
}

// avsc adds the types that it meets. One may be named as a member of every object is, such as `constructor`.
const newRegistry = (): Record<string, Type> => Object.assign(Object.create(null), { long: exactLongType });

/** Parses one of our schemas for reading and writing. A union of null and a type is plainly null or the value. */
export const parseOurs = (schema: Schema): Type =>
  avro.Type.forSchema(schema, { wrapUnions: false, omitRecordMethods: true, registry: newRegistry(), typeHook });

/**
 * Parses a writer's schema, for its structure, or to read values with avsc and write them again: a union's value is wrapped in
 * its branch's name, so none is ambiguous. `references`: texts of schemas that it refers to, each after those that it refers to
 * itself. Throws if the text is not an Avro schema, or is too deep or too large.
 */
export function parseWriter(text: string, references: readonly string[] = []): Type {
  const registry = newRegistry();
  return structuresOf([...references, text])
    .map((schema) => avro.Type.forSchema(schema as Schema, { wrapUnions: true, registry, typeHook }))
    .at(-1)!;
}

/** The limit on types in a writer's schema. avsc takes about a millisecond for each. */
const typesMax = 1_000;

function structuresOf(texts: readonly string[]): unknown[] {
  let types = 0;
  const count = (): void => {
    if (++types > typesMax) throw new Error(`it is made of more than ${typesMax} types`);
  };
  return texts.map((text) => structureOf(JSON.parse(text), count));
}

/**
 * The schema without the parts that reading does not need, because avsc is stricter about them than Avro's own parsers:
 * defaults and sort orders. `{"type": {…}}` and `{"type": "a.Name"}` are unwrapped. `count` is called for each type.
 */
function structureOf(schema: unknown, count: () => void, depth = 0): unknown {
  assertDepth(depth);
  const inner = (part: unknown): unknown => structureOf(part, count, depth + 1);
  if (Array.isArray(schema)) return schema.map(inner);
  if (typeof schema !== 'object' || schema === null) return schema;
  const node = schema as Record<string, unknown>;
  const type = node.type;
  if (typeof type !== 'string') return inner(type);
  count();
  if (primitiveTypes.has(type))
    return typeof node.logicalType === 'string' ? { type, logicalType: node.logicalType } : { type };
  if (!complexTypes.has(type)) return type;
  const copy: Record<string, unknown> = { type };
  for (const key of ['name', 'namespace', 'symbols', 'size']) if (node[key] !== undefined) copy[key] = node[key];
  if (node.items !== undefined) copy.items = inner(node.items);
  if (node.values !== undefined) copy.values = inner(node.values);
  if (Array.isArray(node.fields)) {
    copy.fields = node.fields.map((field: { name: unknown; type: unknown }) => ({
      name: field.name,
      type: inner(field.type),
    }));
  }
  return copy;
}

function readSchema(file: string): Schema {
  return JSON.parse(readFileSync(join(folder, file), 'utf8'));
}

/** Each topic's record schema, as in the file. */
export const topicSchemas = byTopic((topic) => readSchema(`${topic}.avsc`));

export const topicTypes = byTopic((topic) => parseOurs(topicSchemas[topic]));

export const rejectedSchema: Schema = readSchema('Rejected.avsc');
export const rejectedType: Type = parseOurs(rejectedSchema);

const headerSchema = {
  type: 'record',
  name: 'Header',
  fields: [
    { name: 'key', type: 'string' },
    { name: 'value', type: ['null', 'bytes'], default: null },
  ],
};

/**
 * The archive's record, `Archived`, with a key and a value of these types. Archives without the last two fields are read
 * too (docs/rules.md#archived-record).
 */
export const archivedSchema = (key: string, value: unknown) => ({
  type: 'record',
  name: 'Archived',
  namespace: 'ridecalendar',
  fields: [
    { name: 'partition', type: 'int' },
    { name: 'offset', type: 'long' },
    { name: 'timestamp', type: { type: 'long', logicalType: 'timestamp-millis' } },
    { name: 'key', type: key },
    { name: 'value', type: value },
    { name: 'headers', type: { type: 'array', items: headerSchema }, default: [] },
    { name: 'raw', type: ['null', 'bytes'], default: null },
  ],
});

/** Each topic's `Archived`. Its value is null or the topic's record. */
export const archivedSchemas = byTopic((topic) => archivedSchema('string', ['null', topicSchemas[topic]]) as Schema);

export const archivedTypes = byTopic((topic) => parseOurs(archivedSchemas[topic]));

/** Further `.avsc` files in the folder: earlier versions of our schemas, known by their fingerprint (docs/event-schemas.md). */
export const furtherSchemaTexts: readonly string[] = readdirSync(folder)
  .filter((file) => file.endsWith('.avsc') && file !== 'Rejected.avsc')
  .filter((file) => !(topicNames as readonly string[]).includes(file.slice(0, -'.avsc'.length)))
  .sort()
  .map((file) => readFileSync(join(folder, file), 'utf8'));
