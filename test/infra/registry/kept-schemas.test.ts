import { expect, it } from 'vitest';
import { keptSchemas } from '../../../infra/registry/kept-schemas.ts';
import { type SchemaRegistry, SchemaRegistryAwayError } from '../../../infra/registry/schema-registry.ts';
import { silentLog } from '../../../projector/running/log.ts';
import type { RegisteredSchema } from '../../../schemas/avro/writer-schemas.ts';

const url = 'http://reader:hunter2@registry:8081/base';
const known = { schema: '"int"', references: ['"long"'] };
const unknown = { bad: 'unknown schema id' } as const;

/** What a registry says of ids; it is away for those without an answer. */
const registryOf = (answers: Record<number, RegisteredSchema>): SchemaRegistry => ({
  async lookUp(id) {
    const answer = answers[id];
    if (!answer) throw new SchemaRegistryAwayError('away');
    return answer;
  },
});

/** Texts that outlive a process, and may be away. */
function store() {
  const stored = new Map<string, string>();
  const made = {
    stored,
    away: false,
    async find(name: string) {
      if (made.away) throw new Error('Redis cannot be reached');
      return stored.get(name) ?? null;
    },
    async keep(name: string, text: string) {
      if (made.away) throw new Error('Redis cannot be reached');
      stored.set(name, text);
    },
    close: async () => {},
  };
  return made;
}

const kept = (texts: ReturnType<typeof store>, answers: Record<number, RegisteredSchema>, at = url) =>
  keptSchemas({ registry: registryOf(answers), url: at }, texts, silentLog);

const useless = { bad: 'unusable writer schema' } as const;

it.each<[what: string, first: RegisteredSchema, then: RegisteredSchema | null, found: RegisteredSchema]>([
  ['a schema that was looked up once is there, though the registry is away', known, null, known],
  ['a schema that the registry has lost is still the one that records were read with', known, unknown, known],
  ['a schema that is of no use is stored too, so that the same records are bad', useless, null, useless],
  ['an id that the registry did not know is not known while it is away', unknown, null, unknown],
  ['an id that the registry did not know is known once it was registered', unknown, known, known],
])('for later processes %s', async (_, first, then, found) => {
  const texts = store();
  expect(await kept(texts, { 7: first }).lookUp(7)).toEqual(first);
  expect(await kept(texts, then ? { 7: then } : {}).lookUp(7)).toEqual(found);
  expect(await kept(texts, {}).lookUp(7)).toEqual(found);
  await expect(kept(texts, {}).lookUp(8)).rejects.toThrow(SchemaRegistryAwayError);
});

it('no record is folded with a schema that could not be stored', async () => {
  const texts = store();
  texts.away = true;
  await expect(kept(texts, { 7: known }).lookUp(7)).rejects.toThrow(
    new SchemaRegistryAwayError('its text cannot be stored beside the views: Redis cannot be reached'),
  );
});

it('ids are those of one registry, whatever its credentials; these are stored nowhere', async () => {
  const texts = store();
  await kept(texts, { 7: known }).lookUp(7);
  expect(await kept(texts, {}, url.replace('hunter2', 'other')).lookUp(7)).toEqual(known);
  await expect(kept(texts, {}, 'http://elsewhere:8081').lookUp(7)).rejects.toThrow('away');
  expect(JSON.stringify([...texts.stored])).not.toMatch(/hunter2|reader/);
});

it('schemas are stored again after the store was emptied', async () => {
  const texts = store();
  const first = kept(texts, { 7: known, 8: known });
  await Promise.all([first.lookUp(7), first.lookUp(8)]);
  texts.stored.clear();
  await first.keepAgain();
  expect(texts.stored.size).toBe(2);
});
