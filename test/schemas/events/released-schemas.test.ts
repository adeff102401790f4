import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import avro, { type Schema } from 'avsc';
import { describe, expect, test } from 'vitest';
import { fingerprintKey, singleObjectHeader } from '../../../schemas/avro/single-object.ts';
import { WriterSchemas } from '../../../schemas/avro/writer-schemas.ts';
import { topicNames } from '../../../schemas/events/records.ts';

const released = join(import.meta.dirname, '../../data/released-schemas');
const present = join(import.meta.dirname, '../../../schemas/events');
const readSchema = (folder: string, file: string) => JSON.parse(readFileSync(join(folder, file), 'utf8'));
const files = readdirSync(released).filter((file) => file.endsWith('.avsc'));

// docs/rules.md#schema-changes
describe("the last release's event schemas", () => {
  test('are those of every topic', () => {
    expect(files.sort()).toEqual([...topicNames, 'Rejected'].map((name) => `${name}.avsc`).sort());
  });

  test.each(files)('%s has changed compatibly only, both ways', (file) => {
    expect(incompatibilities(readSchema(released, file), readSchema(present, file))).toEqual([]);
  });

  test.each(topicNames)('%s: a value that names the released schema by its fingerprint is still read', (topic) => {
    const header = singleObjectHeader(avro.Type.forSchema(readSchema(released, `${topic}.avsc`), { wrapUnions: true }));
    expect(new WriterSchemas().byFingerprint(topic, fingerprintKey(header))).toHaveProperty('place');
  });
});

interface Field {
  name: string;
  // biome-ignore lint/suspicious/noExplicitAny: a schema is changed at any depth
  type: any;
  default?: unknown;
  aliases?: string[];
}

/** The released schema of nights, changed. */
function changed(change: (fields: Field[], field: (name: string) => Field) => void): unknown[] {
  const schema = readSchema(released, 'nights.avsc') as { fields: Field[] };
  const before = structuredClone(schema);
  change(schema.fields, (name) => schema.fields.find((field) => field.name === name)!);
  return [before, schema];
}

const allowed: Record<string, Parameters<typeof changed>[0]> = {
  'a field with a default is added': (fields) => fields.push({ name: 'note', type: ['null', 'string'], default: null }),
  'a field with a default is removed': (fields) => fields.splice(4, 1),
  'fields change places': (fields) => fields.reverse(),
  'an enum gains a symbol': (_, field) => field('status').type.symbols.push('MOVED'),
};

const refused: Record<string, Parameters<typeof changed>[0]> = {
  'a field is renamed': (_, field) => Object.assign(field('url'), { name: 'link' }),
  'a field is renamed, with an alias': (_, field) => Object.assign(field('url'), { name: 'link', aliases: ['url'] }),
  'a field without a default is added': (fields) => fields.push({ name: 'note', type: 'string' }),
  'a field without a default is removed': (fields) => fields.splice(0, 1),
  'an enum loses a symbol': (_, field) => field('status').type.symbols.pop(),
  'a symbol is renamed': (_, field) => field('status').type.symbols.splice(1, 1, 'CALLED_OFF'),
  'a field may be null from now on': (_, field) => Object.assign(field('url'), { type: ['null', 'string'] }),
  'a field may no longer be null': (_, field) => Object.assign(field('meet_time'), { type: 'int', default: 0 }),
  'a type becomes wider': (_, field) => Object.assign(field('revision'), { type: 'double' }),
  'a type becomes another': (_, field) => Object.assign(field('ride'), { type: 'long' }),
  'a time changes its unit': (_, field) => Object.assign(field('changed_at').type, { logicalType: 'timestamp-micros' }),
  'a number becomes a time': (_, field) =>
    Object.assign(field('revision'), { type: { type: 'long', logicalType: 'timestamp-millis' } }),
  'an inner field is renamed': (_, field) => Object.assign(field('meeting').type[1].fields[2], { name: 'hidden' }),
  'an inner record is renamed': (_, field) => Object.assign(field('meeting').type[1], { name: 'Place' }),
};

// docs/rules.md#schema-changes
describe('a change of an event schema', () => {
  test.each(Object.entries(allowed))('is allowed where %s', (_name, change) => {
    const [before, after] = changed(change);
    expect(after).not.toEqual(before);
    expect(incompatibilities(before, after)).toEqual([]);
  });

  test.each(Object.entries(refused))('is refused where %s', (_name, change) => {
    const [before, after] = changed(change);
    expect(incompatibilities(before, after)).not.toEqual([]);
  });
});

/**
 * Whether an event schema may follow a released one (docs/rules.md#schema-changes), by avsc's resolvers: a reader with
 * the new schema reads what a writer with the released one wrote, and the other way round.
 */

type Node = Record<string, unknown>;
const isNode = (schema: unknown): schema is Node => typeof schema === 'object' && schema !== null;

/** What keeps `next` from following `released`, in words. Empty: nothing does. */
function incompatibilities(released: unknown, next: unknown): string[] {
  return [
    resolved('a new reader cannot read what the release wrote', released, next),
    resolved("the release's readers cannot read what a new writer writes", withSymbolsOf(next, released), released),
    ...changedMeanings(released, next),
  ].filter((found) => found !== null);
}

function resolved(failure: string, writer: unknown, reader: unknown): string | null {
  const parse = (schema: unknown) => avro.Type.forSchema(schema as Schema, { wrapUnions: true });
  try {
    parse(reader).createResolver(parse(writer));
    return null;
  } catch (error) {
    return `${failure}: ${(error as Error).message}`;
  }
}

/**
 * The writer's schema without the enum symbols that the reader lacks. A record with such a symbol is bad for that reader
 * (docs/rules.md#unknown-schema), all others are not. avsc would refuse the whole schema.
 */
function withSymbolsOf(writer: unknown, reader: unknown): unknown {
  const known = new Map(enumsOf(reader).map(([name, symbols]) => [name, symbols]));
  const copy = structuredClone(writer);
  for (const [name, symbols, node] of enumsOf(copy)) {
    const kept = known.get(name);
    if (kept) node.symbols = symbols.filter((symbol) => kept.includes(symbol));
  }
  return copy;
}

function enumsOf(schema: unknown): [name: string, symbols: string[], node: Node][] {
  if (!isNode(schema)) return [];
  const inner = Object.values(schema).flatMap(enumsOf);
  return schema.type === 'enum' ? [[schema.name as string, schema.symbols as string[], schema], ...inner] : inner;
}

/** Avro's resolution does not look at logical types, but a time in another unit is another time. */
function changedMeanings(released: unknown, next: unknown): string[] {
  const now = new Map(logicalTypesOf(next));
  return logicalTypesOf(released)
    .filter(([field, type]) => now.has(field) && now.get(field) !== type)
    .map(([field, type]) => `${field} was ${type}, and is ${now.get(field)}`);
}

/** The logical type ('none' without one) of each field, by its path of names. */
function logicalTypesOf(schema: unknown, path = ''): [field: string, logicalType: string][] {
  if (!isNode(schema)) return [];
  if (Array.isArray(schema)) return schema.flatMap((branch) => logicalTypesOf(branch, path));
  if (Array.isArray(schema.fields)) {
    return schema.fields.flatMap((field: Node) => {
      const name = `${path}/${field.name}`;
      return [[name, logicalTypeOf(field.type)] as [string, string], ...logicalTypesOf(field.type, name)];
    });
  }
  return [schema.type, schema.items, schema.values].flatMap((part) => logicalTypesOf(part, path));
}

function logicalTypeOf(type: unknown): string {
  const branches = (Array.isArray(type) ? type : [type]).filter(isNode);
  return branches.map((branch) => branch.logicalType as string).find((name) => name !== undefined) ?? 'none';
}
