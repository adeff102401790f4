type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
type Named = { [name: string]: Json } & { name: string };

const isNamed = (part: Json): part is Named =>
  typeof part === 'object' && part !== null && !Array.isArray(part) && typeof part.name === 'string';

const fullName = (name: string, namespace: string): string =>
  name.includes('.') || namespace === '' ? name : `${namespace}.${name}`;

const namespaceOf = (part: Named, outer: string): string => {
  if (part.name.includes('.')) return part.name.slice(0, part.name.lastIndexOf('.'));
  return typeof part.namespace === 'string' ? part.namespace : outer;
};

/**
 * A schema with the definitions of the schemas that it refers to written in, each where it is named first. So a
 * registry accepts it without knowing them. Values have the same bytes. `references`: their texts, each after those
 * that it refers to itself.
 */
export function selfContainedSchema(text: string, references: readonly string[]): string {
  if (references.length === 0) return text;
  const known = new Map<string, Named>();
  for (const reference of references) {
    const part = JSON.parse(reference) as Json;
    if (isNamed(part)) known.set(fullName(part.name, namespaceOf(part, '')), part);
  }
  return JSON.stringify(writtenOut(JSON.parse(text) as Json, '', known));
}

function writtenOut(part: Json, namespace: string, known: Map<string, Named>): Json {
  if (Array.isArray(part)) return part.map((one) => writtenOut(one, namespace, known));
  if (typeof part === 'string') return named(part, namespace, known);
  if (typeof part !== 'object' || part === null) return part;
  const isDefinition =
    isNamed(part) && typeof part.type === 'string' && ['record', 'error', 'enum', 'fixed'].includes(part.type);
  const inner = isDefinition ? namespaceOf(part as Named, namespace) : namespace;
  const changed = { ...part };
  // Nothing else in a schema names types: not symbols, defaults or docs.
  for (const field of ['type', 'items', 'values'])
    if (field in part && !(isDefinition && field === 'type')) changed[field] = writtenOut(part[field]!, inner, known);
  if (Array.isArray(part.fields)) changed.fields = part.fields.map((one) => writtenOut(one, inner, known));
  return changed;
}

function named(name: string, namespace: string, known: Map<string, Named>): Json {
  const full = fullName(name, namespace);
  const definition = known.get(full);
  if (!definition) return name;
  known.delete(full);
  // In its new place, it would inherit the namespace around it.
  const own = { ...definition, namespace: namespaceOf(definition, '') };
  return writtenOut(own, '', known);
}
