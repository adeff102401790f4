import { createHash } from 'node:crypto';
import { type Clock, realClock } from '../../projector/ports/clock.ts';
import type { Log } from '../../projector/ports/log.ts';
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
  /** Calls `keepAgain` every ten seconds, until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
}

const everyMs = 10_000;
const unknownForMs = 30_000;
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
  clock: Clock = realClock,
): KeptSchemas {
  const known = new Map<string, string>();
  const of = nameOfRegistry(url);

  /** The registry's answer, or the error that it is away. */
  const ask = (id: number, signal?: AbortSignal): Promise<RegisteredSchema | SchemaRegistryAwayError> =>
    registry.lookUp(id, signal).catch((cause) => {
      if (cause instanceof SchemaRegistryAwayError) return cause;
      throw cause;
    });

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
    if (isUnknown(found)) return { ...found, untilMs: clock.nowMs() + unknownForMs };
    log.info(`Schema ${id} is the one stored beside the views: the schema registry is away, or does not have it`);
    return found;
  }

  async function lookUp(id: number, signal?: AbortSignal): Promise<RegisteredSchema> {
    const answer = await ask(id, signal);
    const name = `${of}/${id}`;
    if (answer instanceof Error) {
      const found = await stored(id, name);
      if (found === null) throw answer;
      return found;
    }
    if (!isUnknown(answer)) await keep(name, answer);
    else {
      const found = await stored(id, name);
      if (found !== null && !isUnknown(found)) return found;
      if (known.size < unknownMax) await keep(name, { bad: answer.bad });
    }
    return answer;
  }

  async function keepAgain(): Promise<void> {
    for (const [name, text] of known) if ((await texts.find(name)) === null) await texts.keep(name, text);
  }

  return {
    lookUp,
    keepAgain,
    async run(signal) {
      while (!signal.aborted) {
        await clock.sleep(everyMs, signal);
        // The view writer logs that the store is away.
        if (!signal.aborted) await keepAgain().catch(() => undefined);
      }
    },
  };
}

const isUnknown = (answer: RegisteredSchema): answer is Extract<RegisteredSchema, { bad: unknown }> =>
  'bad' in answer && answer.bad === 'unknown schema id';

/** The same for the same registry, without its credentials. */
function nameOfRegistry(url: string): string {
  const { origin, pathname } = new URL(url);
  return createHash('sha256').update(`${origin}${pathname}`).digest('hex').slice(0, 16);
}
