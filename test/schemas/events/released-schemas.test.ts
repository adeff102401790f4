import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import avro from 'avsc';
import { describe, expect, test } from 'vitest';
import { fingerprintIn, singleObjectHeader } from '../../../schemas/avro/single-object.ts';
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
    expect(new WriterSchemas().byName(topic, fingerprintIn(header))).toHaveProperty('place');
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

type Node = Record<string, unknown> & { fields: Field[]; symbols: string[] };
const isNode = (schema: unknown): schema is Node => typeof schema === 'object' && schema !== null;

/**
 * What keeps an event schema from following a released one (docs/rules.md#schema-changes): types, names and units stay, fields
 * come and go with defaults only, and an enum may gain symbols. Empty: nothing does.
 */
function incompatibilities(released: unknown, next: unknown, path = ''): string[] {
  if (Array.isArray(released) && Array.isArray(next) && released.length === next.length)
    return released.flatMap((branch, i) => incompatibilities(branch, next[i], path));
  if (!isNode(released) || !isNode(next) || Array.isArray(released) || Array.isArray(next))
    return released === next ? [] : [`${path} was ${JSON.stringify(released)}`];
  const changed = [];
  for (const key of ['type', 'name', 'namespace', 'logicalType', 'size', 'items', 'values'])
    changed.push(...incompatibilities(released[key], next[key], `${path}/${key}`));
  if (released.symbols?.some((symbol) => !next.symbols.includes(symbol))) changed.push(`${path} lacks a symbol`);
  const [before, after] = [released, next].map(
    ({ fields = [] }) => new Map(fields.map((field) => [field.name, field])),
  );
  for (const [name, field] of new Map([...after!, ...before!])) {
    const inBoth = before!.has(name) && after!.has(name);
    if (inBoth) changed.push(...incompatibilities(field.type, after!.get(name)!.type, `${path}/${name}`));
    else if (field.default === undefined) changed.push(`${path}/${name} has no default`);
  }
  return changed;
}
