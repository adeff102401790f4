import { expect, it } from 'vitest';
import { KeptSchemas } from '../../../infra/registry/kept-schemas.ts';
import { SchemaAwayError } from '../../../infra/registry/schema-registry.ts';
import { type FoundSchema, type SchemaName, WriterSchemas } from '../../../schemas/avro/writer-schemas.ts';
import { silentLog } from '../../support/processes/heard.ts';

const url = 'http://reader:hunter2@registry:8081/base';
const known = { schema: '"int"', references: ['"long"'] };

/** Texts that outlive a process, and may be away. */
function store() {
  const stored = new Map<string, string>();
  const answering = () => {
    if (made.away) throw new Error('Redis cannot be reached');
    return stored;
  };
  const made = {
    stored,
    away: false,
    names: async () => [...answering().keys()],
    find: async (name: string) => answering().get(name) ?? null,
    async keep(texts: ReadonlyMap<string, string>) {
      for (const [name, text] of texts) answering().set(name, text);
    },
    close: async () => {},
  };
  return made;
}

/** `answers`: what a registry says of ids; it is away for those without an answer. Null: there is none. */
function kept(
  texts: ReturnType<typeof store>,
  answers: Record<SchemaName, FoundSchema> | null,
  at = url,
  keeps = true,
) {
  const writers = new WriterSchemas();
  const lookUp = async (id: SchemaName) => answers?.[id] ?? Promise.reject(new SchemaAwayError('away'));
  const registry = answers && { source: { lookUp }, url: at };
  return { schemas: new KeptSchemas({ registry, store: texts, writers, log: silentLog, keeps }), writers };
}

// docs/rules.md#kept-schemas, #schema-registry
it.each<[what: string, first: FoundSchema, then: FoundSchema | null, found: FoundSchema]>([
  ['a schema that was looked up once is there, though the registry is away', known, null, known],
  ['a schema that the registry has lost is still the one that records were read with', known, 'unknown', known],
  ['an id that the registry did not know is known once it was registered', 'unknown', known, known],
  ['an id that could not be used is asked for again', 'unusable', known, known],
])('for later processes %s', async (_, first, then, found) => {
  const texts = store();
  expect(await kept(texts, { 7: first }).schemas.lookUp(7)).toEqual(first);
  // No verdict is kept.
  expect(texts.stored.size).toBe(typeof first === 'string' ? 0 : 1);
  expect(await kept(texts, then ? { 7: then } : {}).schemas.lookUp(7)).toEqual(found);
  expect(await kept(texts, {}).schemas.lookUp(7)).toEqual(found);
  await expect(kept(texts, {}).schemas.lookUp(8)).rejects.toThrow(SchemaAwayError);
});

it('no record is folded with a schema that could not be stored, or judged while it cannot be looked up', async () => {
  const texts = store();
  texts.away = true;
  const waits = (name: SchemaName, answers: Parameters<typeof kept>[1], why: string) =>
    expect(kept(texts, answers).schemas.lookUp(name)).rejects.toThrow(new SchemaAwayError(why));
  await waits(7, { 7: known }, 'its text cannot be stored beside the views: Redis cannot be reached');
  // Both are away: the registry is what to start.
  await waits(7, {}, 'away');
  await waits('0011223344556677', null, 'its text cannot be looked up beside the views: Redis cannot be reached');
});

it('ids are those of one registry, whatever its credentials; these are stored nowhere', async () => {
  const texts = store();
  // A command stores nothing.
  expect(await kept(texts, { 7: known }, url, false).schemas.lookUp(7)).toEqual(known);
  expect(texts.stored.size).toBe(0);
  await kept(texts, { 7: known }).schemas.lookUp(7);
  // Other releases know them by this name.
  expect([...texts.stored.keys()]).toEqual(['91134cfa1b263a12/7']);
  expect(await kept(texts, {}, url.replace('hunter2', 'other')).schemas.lookUp(7)).toEqual(known);
  for (const other of ['http://elsewhere:8081/base', 'http://registry:8081'])
    await expect(kept(texts, {}, other).schemas.lookUp(7)).rejects.toThrow('away');
  expect(JSON.stringify([...texts.stored])).not.toMatch(/hunter2|reader/);
});

it('schemas are stored again after the store was emptied, those that were found there too', async () => {
  const texts = store();
  const one = kept(texts, { 7: known, 8: known });
  const own = one.writers.known.length;
  for (const id of [7, 8]) one.writers.add(id, await one.schemas.lookUp(id));
  const reader = kept(texts, {});
  reader.writers.add(7, await reader.schemas.lookUp(7));
  texts.stored.clear();
  await reader.schemas.keepAll();
  expect(texts.stored.size).toBe(own + 1);
  await one.schemas.keepAll();
  expect(texts.stored.size).toBe(own + 2);
});

/** A text, its fingerprint, and who was asked for that before it was there. */
async function unknownOnce() {
  const text = '{"type":"record","name":"Unheard","fields":[]}';
  const other = new WriterSchemas();
  other.addKnown(text);
  const name = String(other.known.at(-1)![0]);
  const texts = store();
  const { schemas, writers } = kept(texts, null);
  const look = async () => writers.add(name, await schemas.lookUp(name));
  await look();
  const keep = (schema: string) => texts.keep(new Map([[name, JSON.stringify({ schema, references: [] })]]));
  return { text, schemas, keep, look, knows: () => writers.known.some(([one]) => one === name) };
}

// docs/rules.md#kept-schemas
it('a fingerprint that was judged unknown is known once its text is there, and only that text', async () => {
  const { text, schemas, keep, knows } = await unknownOnce();
  expect([knows(), await schemas.knowsMore()]).toEqual([false, false]);
  await keep('"int"');
  expect([await schemas.knowsMore(), knows()]).toEqual([false, false]);
  await keep(text);
  expect([await schemas.knowsMore(), knows()]).toEqual([true, true]);
  // What is folded anew knows it.
  expect(await schemas.knowsMore()).toBe(false);
});

it('a fingerprint that was judged unknown, and was known to a later record, has what came before judged anew', async () => {
  const { text, schemas, keep, look } = await unknownOnce();
  await keep(text);
  await look();
  expect([await schemas.knowsMore(), await schemas.knowsMore()]).toEqual([true, false]);
});
