import { createHash } from 'node:crypto';
import type { Log } from '../../projector/running/log.ts';
import type { RegisteredSchema } from '../../schemas/avro/writer-schemas.ts';
import { type SchemaRegistry, SchemaRegistryAwayError } from './schema-registry.ts';

/** Stores texts of schemas by name. They outlive the process that looked them up. */
export interface SchemaTexts {
  find(name: string): Promise<string | null>;
  /** Resolves once it is stored. */
  keep(name: string, text: string): Promise<void>;
  close(): Promise<void>;
}

interface KeptSchemas extends SchemaRegistry {
  /** Stores again what the store has lost. */
  keepAgain(): Promise<void>;
}

// Anybody who may publish can name any number of ids that no registry knows.
const unknownMax = 10_000;

/**
 * A registry whose answers are stored beside the views before a record that needs them is folded
 * (docs/rules.md#schema-registry). So a later projector folds the same facts, even if the registry is away, or has lost
 * the schema. An answer that an id is unknown is stored as well: otherwise a later projector would wait at a record that
 * this one took for bad. `url`: the registry that gave the ids.
 */
export function keptSchemas(
  { registry, url }: { registry: SchemaRegistry; url: string },
  texts: SchemaTexts,
  log: Log,
): KeptSchemas {
  const known = new Map<string, string>();
  const of = nameOfRegistry(url);

  async function keep(name: string, answer: RegisteredSchema): Promise<void> {
    const text = JSON.stringify(answer);
    if (known.get(name) === text) return;
    await texts.keep(name, text).catch((cause: Error) => {
      throw new SchemaRegistryAwayError(`its text cannot be stored beside the views: ${cause.message}`);
    });
    known.set(name, text);
  }

  /** The stored answer for an id that the registry does not know, or while it is away. Null: none can be read. */
  async function stored(id: number, name: string): Promise<RegisteredSchema | null> {
    const text = await texts.find(name).catch(() => null);
    if (text === null) return null;
    known.set(name, text);
    const found = JSON.parse(text) as RegisteredSchema;
    if (!isUnknown(found))
      log.info(`Schema ${id} is the one stored beside the views: the schema registry is away, or does not have it`);
    return found;
  }

  async function lookUp(id: number, signal?: AbortSignal): Promise<RegisteredSchema> {
    const name = `${of}/${id}`;
    let answer: RegisteredSchema;
    try {
      answer = await registry.lookUp(id, signal);
    } catch (error) {
      const found = error instanceof SchemaRegistryAwayError ? await stored(id, name) : null;
      if (found === null) throw error;
      return found;
    }
    if (isUnknown(answer)) {
      const found = await stored(id, name);
      if (found !== null) return found;
      if (known.size >= unknownMax) return answer;
    }
    await keep(name, answer);
    return answer;
  }

  async function keepAgain(): Promise<void> {
    for (const [name, text] of known) if ((await texts.find(name)) === null) await texts.keep(name, text);
  }

  return { lookUp, keepAgain };
}

const isUnknown = (answer: RegisteredSchema): boolean => 'bad' in answer && answer.bad === 'unknown schema id';

/** The same for the same registry, without its credentials. */
function nameOfRegistry(url: string): string {
  const { origin, pathname } = new URL(url);
  return createHash('sha256').update(`${origin}${pathname}`).digest('hex').slice(0, 16);
}
