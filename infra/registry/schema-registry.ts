import { within } from '../../projector/running/stop.ts';
import type { FoundSchema, SchemaName, SchemaTexts } from '../../schemas/avro/writer-schemas.ts';
import { noteFetched } from '../net/certificate-ends.ts';

/** Where writers' schemas are looked up that are not known yet. */
export interface SchemaSource {
  /**
   * One attempt to look up a schema. Throws SchemaAwayError if there was no valid response: retry with back-off, because
   * that makes no record bad.
   */
  lookUp(name: SchemaName, signal?: AbortSignal): Promise<FoundSchema>;
}

/** There was no valid response, which makes no record bad (docs/rules.md#schema-registry). Names no credentials. */
export class SchemaAwayError extends Error {
  override name = 'SchemaAwayError';
}

/**
 * Schemas of the Confluent wire format, by id, from a registry that speaks Confluent's API. `url`:
 * SCHEMA_REGISTRY_URL. `user:password@` in it becomes basic authentication.
 */
export function schemaRegistry({ url, timeoutMs = 10_000 }: { url: string; timeoutMs?: number }): SchemaSource {
  noteFetched('SCHEMA_REGISTRY_URL', url);
  return {
    async lookUp(id, signal) {
      if (typeof id === 'string') return 'unknown';
      const read = async (path: string) => {
        const answer = await within(timeoutMs, (late) => readSchema(url, path, late), signal);
        signal?.throwIfAborted();
        if (typeof answer === 'string') throw new SchemaAwayError(answer);
        return answer;
      };
      const answer = await read(`/schemas/ids/${id}`);
      return answer === null ? 'unknown' : withReferences(answer, read);
    },
  };
}

/** Of one schema, those of its references included. No schema of our records has more than this. */
const referencesMax = 100;

/** Collects the texts that a schema refers to, each after those that it refers to itself. */
async function withReferences(
  top: RegisteredSchema,
  read: (path: string) => Promise<RegisteredSchema | null>,
): Promise<SchemaTexts | 'unusable'> {
  const texts: string[] = [];
  const seen = new Set<string>();
  const collect = async (schema: RegisteredSchema): Promise<boolean> => {
    // A registry also has Protobuf and JSON Schema.
    if (!schema.isAvro) return false;
    for (const { subject, version } of schema.references) {
      const path = `/subjects/${encodeURIComponent(subject)}/versions/${version}?deleted=true`;
      if (seen.has(path)) continue;
      if (seen.add(path).size > referencesMax) return false;
      const answer = await read(path);
      if (answer === null || !(await collect(answer))) return false;
      texts.push(answer.schema);
    }
    return true;
  };
  return (await collect(top)) ? { schema: top.schema, references: texts } : 'unusable';
}

interface RegisteredSchema {
  schema: string;
  isAvro: boolean;
  references: { subject: string; version: number }[];
}

/**
 * One GET to the registry. Null: it says that there is no such schema. A text: why there was no valid response, without
 * credentials; a later attempt may succeed. Only a valid response can make a record bad. Everything else counts as away:
 * network errors, time-outs, 401, 403, 429, 5xx, a proxy's page.
 */
async function readSchema(url: string, path: string, signal: AbortSignal): Promise<RegisteredSchema | string | null> {
  const { base, origin, headers } = registryAddress(url);
  const away = (what: string) => `the schema registry at ${origin} ${what}`;
  try {
    const response = await fetch(base + path, { headers, signal });
    if (response.status !== 200 && response.status !== 404) {
      await response.body?.cancel();
      return away(`answered ${response.status}`);
    }
    const answer: unknown = await response.json().catch(nullIfNoJson);
    // A page instead of JSON: something else listens there, or the path is wrong.
    const isPage = response.headers.get('content-type')?.startsWith('text/html') ?? false;
    if (response.status === 404) return isPage ? away('answered 404 with a web page') : null;
    return schemaIn(answer) ?? away('answered 200 with something other than a schema');
  } catch (error) {
    if (signal.aborted) return away('did not answer in time');
    const cause = (error as { cause?: { code?: string } }).cause;
    return away(`can't be reached${cause?.code ? ` (${cause.code})` : ''}`);
  }
}

function nullIfNoJson(error: Error): null {
  if (error instanceof SyntaxError) return null;
  throw error;
}

function schemaIn(answer: unknown): RegisteredSchema | null {
  const { schema, schemaType, references } = (answer ?? {}) as Record<string, unknown>;
  if (typeof schema !== 'string') return null;
  return {
    schema,
    // Registries leave out the type if it is Avro.
    isAvro: schemaType === undefined || schemaType === null || schemaType === 'AVRO',
    references: Array.isArray(references) ? references : [],
  };
}

/** Where to send requests, and with which headers. `origin`, for messages, has no credentials. */
function registryAddress(registryUrl: string) {
  const url = new URL(registryUrl);
  const headers: Record<string, string> = {
    accept: 'application/vnd.schemaregistry.v1+json, application/json',
  };
  if (url.username || url.password) {
    const credentials = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
    headers.authorization = `Basic ${Buffer.from(credentials).toString('base64')}`;
    // fetch refuses credentials in a URL, and its errors would print them.
    url.username = url.password = '';
  }
  return { base: url.href.replace(/\/$/, ''), origin: url.origin, headers };
}
