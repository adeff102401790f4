import avro, { type Schema } from 'avsc';

/**
 * Whether an event schema may follow a released one (docs/rules.md#schema-changes), by avsc's resolvers: a reader with
 * the new schema reads what a writer with the released one wrote, and the other way round.
 */

type Node = Record<string, unknown>;
const isNode = (schema: unknown): schema is Node => typeof schema === 'object' && schema !== null;

/** What keeps `next` from following `released`, in words. Empty: nothing does. */
export function incompatibilities(released: unknown, next: unknown): string[] {
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
