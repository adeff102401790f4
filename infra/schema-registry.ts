import { setTimeout as sleepFor } from 'node:timers/promises';
import type { RegisteredSchema } from '../schemas/writer-schemas.ts';
import { type RegistryAnswer, readRegistry } from './schema-registry-request.ts';

/** Schemas of the Confluent wire format, by id, from a registry that speaks Confluent's API. */
export interface SchemaRegistry {
  /** One attempt. Schemas once seen are kept; `away` says why the registry gave no answer, without credentials. */
  lookUp(id: number, signal?: AbortSignal): Promise<RegisteredSchema | { away: string }>;
  /**
   * Asks with growing pauses until the registry answers. `onAway` hears of each failure. Rejects only when `signal`
   * aborts, with its reason.
   */
  waitFor(id: number, signal: AbortSignal, onAway?: (reason: string) => void): Promise<RegisteredSchema>;
}

export interface SchemaRegistryOptions {
  /** SCHEMA_REGISTRY_URL; `user:password@` in it becomes basic authentication. */
  url: string;
  timeoutMs?: number;
  /** The first pause between attempts; each is twice the last, up to retryDelayMaxMs, less a random part. */
  retryDelayMs?: number;
  retryDelayMaxMs?: number;
  /** How long an id that the registry does not know stays unknown. */
  unknownForMs?: number;
  sleep?: (ms: number, signal: AbortSignal) => Promise<unknown>;
}

/** Schemas may name others, which name others: more than this is no schema of a record of ours. */
const referencesMax = 100;

export function schemaRegistry(options: SchemaRegistryOptions): SchemaRegistry {
  const { timeoutMs = 10_000, retryDelayMs = 250, retryDelayMaxMs = 30_000, unknownForMs = 30_000 } = options;
  const sleep = options.sleep ?? ((ms, signal) => sleepFor(ms, undefined, { signal }));
  const found = new Map<number, RegisteredSchema>();

  const read = (path: string, signal: AbortSignal | undefined) => {
    const timeout = AbortSignal.timeout(timeoutMs);
    return readRegistry(options.url, path, signal ? AbortSignal.any([signal, timeout]) : timeout);
  };

  async function lookUp(id: number, signal?: AbortSignal): Promise<RegisteredSchema | { away: string }> {
    const known = found.get(id);
    if (known) return known;
    const answer = await read(`/schemas/ids/${id}`, signal);
    if ('away' in answer) return answer;
    if ('missing' in answer) return { bad: 'unknown schema id', untilMs: Date.now() + unknownForMs };
    const registered = await withReferences(answer, (path) => read(path, signal));
    if (!('away' in registered)) found.set(id, registered);
    return registered;
  }

  async function waitFor(id: number, signal: AbortSignal, onAway?: (reason: string) => void) {
    for (let delayMs = retryDelayMs; ; delayMs = Math.min(2 * delayMs, retryDelayMaxMs)) {
      const answer = await lookUp(id, signal);
      signal.throwIfAborted();
      if (!('away' in answer)) return answer;
      onAway?.(answer.away);
      // Many projectors that lost the same registry must not come back to it all at once.
      await sleep(delayMs * (0.5 + Math.random() / 2), signal);
    }
  }

  return { lookUp, waitFor };
}

type Found = Extract<RegistryAnswer, { schema: string }>;

/** Collects the texts of what a schema refers to, each after those that it refers to itself. */
async function withReferences(
  top: Found,
  read: (path: string) => Promise<RegistryAnswer>,
): Promise<RegisteredSchema | { away: string }> {
  // Protobuf or JSON Schema: a registry holds those as well.
  if (!top.isAvro) return { bad: 'unusable writer schema' };
  const texts = new Map<string, string>();
  const seen = new Set<string>();
  const collect = async (schema: Found): Promise<{ away: string } | { bad: true } | null> => {
    for (const { subject, version } of schema.references) {
      const path = `/subjects/${encodeURIComponent(subject)}/versions/${version}?deleted=true`;
      if (seen.has(path)) continue;
      if (seen.add(path).size > referencesMax) return { bad: true };
      const answer = await read(path);
      if ('away' in answer) return answer;
      if ('missing' in answer || !answer.isAvro) return { bad: true };
      const failure = await collect(answer);
      if (failure) return failure;
      texts.set(path, answer.schema);
    }
    return null;
  };
  const failure = await collect(top);
  if (failure) return 'away' in failure ? failure : { bad: 'unusable writer schema' };
  return { schema: top.schema, references: [...texts.values()] };
}
