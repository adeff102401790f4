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

// Each field that may be null is so by default, so that a writer may leave it out.
test.each(files)('%s says of what may be null that it is null by default', (file) => {
  const text = readFileSync(join(present, file), 'utf8');
  JSON.parse(text, (_, node) => {
    if (Array.isArray(node?.type)) expect(node).toMatchObject({ type: ['null', expect.anything()], default: null });
    return node;
  });
});

// biome-ignore lint/suspicious/noExplicitAny: a schema is changed at any depth
type Field = { name: string; type: any; default?: unknown };
type Schema = { fields: Field[] };
const field = ({ fields }: Schema, name: string) => fields.find((one) => one.name === name)!;

// docs/rules.md#schema-changes
test.each<[string, boolean, (nights: Schema) => unknown]>([
  ['a field with a default is added', true, ({ fields }) => fields.push({ name: 'note', type: 'int', default: 0 })],
  ['a field with a default is removed', true, ({ fields }) => fields.splice(4, 1)],
  ['an enum gains a symbol', true, (nights) => field(nights, 'status').type.symbols.push('MOVED')],
  ['a field is renamed', false, (nights) => Object.assign(field(nights, 'url'), { name: 'link', aliases: ['url'] })],
  ['a field without a default is added', false, ({ fields }) => fields.push({ name: 'note', type: 'string' })],
  ['an enum loses a symbol', false, (nights) => field(nights, 'status').type.symbols.pop()],
  ['a field may be null', false, (nights) => Object.assign(field(nights, 'url'), { type: ['null', 'string'] })],
  ['a time changes its unit', false, (nights) => Object.assign(field(nights, 'changed_at').type, { logicalType: 'x' })],
  ['an inner record is renamed', false, (nights) => Object.assign(field(nights, 'meeting').type[1], { name: 'Place' })],
])('a change of an event schema: %s, which is allowed: %s', (_name, isAllowed, change) => {
  const [before, after] = [0, 1].map(() => readSchema(released, 'nights.avsc') as Schema);
  change(after!);
  expect(after).not.toEqual(before);
  expect(incompatibilities(before, after).length === 0).toBe(isAllowed);
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
