import { expect, it } from 'vitest';
import { KeptSchemas } from '../../../infra/registry/kept-schemas.ts';
import { SchemaAwayError, type SchemaSource } from '../../../infra/registry/schema-registry.ts';
import { type FoundSchema, type SchemaName, WriterSchemas } from '../../../schemas/avro/writer-schemas.ts';
import { silentLog } from '../../support/processes/heard.ts';

const url = 'http://reader:hunter2@registry:8081/base';
const known = { schema: '"int"', references: ['"long"'] };

/** What a registry says of ids; it is away for those without an answer. */
const registryOf = (answers: Record<SchemaName, FoundSchema>): SchemaSource => ({
  async lookUp(id) {
    const answer = answers[id];
    if (!answer) throw new SchemaAwayError('away');
    return answer;
  },
});

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

function kept(texts: ReturnType<typeof store>, answers: Record<SchemaName, FoundSchema> | null, at = url) {
  const writers = new WriterSchemas();
  const registry = answers && { source: registryOf(answers), url: at };
  return { schemas: new KeptSchemas({ registry, store: texts, writers, log: silentLog, keeps: true }), writers };
}

// docs/rules.md#kept-schemas, #schema-registry
it.each<[what: string, first: FoundSchema, then: FoundSchema | null, found: FoundSchema]>([
  ['a schema that was looked up once is there, though the registry is away', known, null, known],
  ['a schema that the registry has lost is still the one that records were read with', known, 'unknown', known],
  ['an id that the registry did not know is known once it was registered', 'unknown', known, known],
])('for later processes %s', async (_, first, then, found) => {
  const texts = store();
  expect(await kept(texts, { 7: first }).schemas.lookUp(7)).toEqual(first);
  expect(await kept(texts, then ? { 7: then } : {}).schemas.lookUp(7)).toEqual(found);
  expect(await kept(texts, {}).schemas.lookUp(7)).toEqual(found);
  await expect(kept(texts, {}).schemas.lookUp(8)).rejects.toThrow(SchemaAwayError);
});

it.each(['unknown', 'unusable'] as const)('a verdict is not kept: %s', async (verdict) => {
  const texts = store();
  expect(await kept(texts, { 7: verdict }).schemas.lookUp(7)).toBe(verdict);
  expect([...texts.stored]).toEqual([]);
});

it('no record is folded with a schema that could not be stored, or judged while it cannot be looked up', async () => {
  const texts = store();
  texts.away = true;
  await expect(kept(texts, { 7: known }).schemas.lookUp(7)).rejects.toThrow(
    new SchemaAwayError('its text cannot be stored beside the views: Redis cannot be reached'),
  );
  await expect(kept(texts, null).schemas.lookUp('0011223344556677')).rejects.toThrow(
    new SchemaAwayError('its text cannot be looked up beside the views: Redis cannot be reached'),
  );
});

it('ids are those of one registry, whatever its credentials; these are stored nowhere', async () => {
  const texts = store();
  await kept(texts, { 7: known }).schemas.lookUp(7);
  expect(await kept(texts, {}, url.replace('hunter2', 'other')).schemas.lookUp(7)).toEqual(known);
  await expect(kept(texts, {}, 'http://elsewhere:8081').schemas.lookUp(7)).rejects.toThrow('away');
  expect(JSON.stringify([...texts.stored])).not.toMatch(/hunter2|reader/);
});

it('schemas are stored again after the store was emptied, those that were found there too', async () => {
  const texts = store();
  const { schemas } = kept(texts, { 7: known, 8: known });
  await Promise.all([schemas.lookUp(7), schemas.lookUp(8)]);
  const reader = kept(texts, {}).schemas;
  await reader.lookUp(7);
  texts.stored.clear();
  await reader.keepAgain();
  expect(texts.stored.size).toBe(1);
  await schemas.keepAgain();
  expect(texts.stored.size).toBe(2);
});

const text = '{"type":"record","name":"Unheard","fields":[]}';
const fingerprint = () => {
  const writers = new WriterSchemas();
  writers.addKnown(text);
  return writers.texts.at(-1)![0];
};

// docs/rules.md#kept-schemas
it('a fingerprint that was judged unknown is known once its text is there, and only that text', async () => {
  const [texts, name] = [store(), fingerprint()];
  const { schemas, writers } = kept(texts, null);
  const look = async () => writers.add(name, await schemas.lookUp(name));
  await look();
  expect([writers.has(name), await schemas.knowsMore()]).toEqual([false, false]);
  await texts.keep(new Map([[name, JSON.stringify({ schema: '"int"', references: [] })]]));
  expect([await schemas.knowsMore(), writers.has(name)]).toEqual([false, false]);
  await texts.keep(new Map([[name, JSON.stringify({ schema: text, references: [] })]]));
  expect([await schemas.knowsMore(), writers.has(name)]).toEqual([true, true]);
  // What is folded anew knows it.
  expect(await schemas.knowsMore()).toBe(false);
});
