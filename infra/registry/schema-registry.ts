import type { RegisteredSchema } from '../../schemas/avro/writer-schemas.ts';
import { type RegistryAnswer, readRegistry } from './schema-registry-request.ts';

/** Schemas of the Confluent wire format, by id, from a registry that speaks Confluent's API. */
export interface SchemaRegistry {
  /**
   * One attempt to look up an id. Schemas are cached. Throws SchemaRegistryAwayError if there was no valid response:
   * retry with back-off, because that makes no record bad.
   */
  lookUp(id: number, signal?: AbortSignal): Promise<RegisteredSchema>;
}

/** The registry gave no valid response. The message says why, without credentials. */
export class SchemaRegistryAwayError extends Error {
  override name = 'SchemaRegistryAwayError';
  readonly retriable = true;
}

export interface SchemaRegistryOptions {
  /** SCHEMA_REGISTRY_URL. `user:password@` in it becomes basic authentication. */
  url: string;
  timeoutMs?: number;
  /** How long an id counts as unknown after the registry did not know it. */
  unknownForMs?: number;
}

/** Schemas may refer to others, which refer to others. No schema of our records has more than this. */
const referencesMax = 100;

export function schemaRegistry(options: SchemaRegistryOptions): SchemaRegistry {
  const { timeoutMs = 10_000, unknownForMs = 30_000 } = options;
  const found = new Map<number, RegisteredSchema>();

  async function lookUp(id: number, signal?: AbortSignal): Promise<RegisteredSchema> {
    const known = found.get(id);
    if (known) return known;
    const read = async (path: string) => {
      const timeout = AbortSignal.timeout(timeoutMs);
      const answer = await readRegistry(options.url, path, signal ? AbortSignal.any([signal, timeout]) : timeout);
      signal?.throwIfAborted();
      if ('away' in answer) throw new SchemaRegistryAwayError(answer.away);
      return answer;
    };
    const answer = await read(`/schemas/ids/${id}`);
    if ('missing' in answer) return { bad: 'unknown schema id', untilMs: Date.now() + unknownForMs };
    const registered = await withReferences(answer, read);
    found.set(id, registered);
    return registered;
  }

  return { lookUp };
}

type Answer = Exclude<RegistryAnswer, { away: string }>;
type Found = Extract<Answer, { schema: string }>;

/** Collects the texts that a schema refers to, each after those that it refers to itself. */
async function withReferences(top: Found, read: (path: string) => Promise<Answer>): Promise<RegisteredSchema> {
  const texts: string[] = [];
  const seen = new Set<string>();
  const collect = async (schema: Found): Promise<boolean> => {
    // A registry also has Protobuf and JSON Schema.
    if (!schema.isAvro) return false;
    for (const { subject, version } of schema.references) {
      const path = `/subjects/${encodeURIComponent(subject)}/versions/${version}?deleted=true`;
      if (seen.has(path)) continue;
      if (seen.add(path).size > referencesMax) return false;
      const answer = await read(path);
      if ('missing' in answer || !(await collect(answer))) return false;
      texts.push(answer.schema);
    }
    return true;
  };
  return (await collect(top)) ? { schema: top.schema, references: texts } : { bad: 'unusable writer schema' };
}
