import { z } from 'zod';
import { registryAddress } from './schema-registry-request.ts';

const answer = z.object({ id: z.number().int().positive() });
const refusal = z.object({ message: z.string() });

export interface RegisterOptions {
  /** SCHEMA_REGISTRY_URL. `user:password@` in it becomes basic authentication. */
  url: string;
  /** In Kafka's usual naming: `<topic>-value`. */
  subject: string;
  /** The schema's text. */
  schema: string;
  signal: AbortSignal;
  timeoutMs?: number;
}

/**
 * Registers a schema with a schema registry (Confluent's API). Returns its id, also if it was registered before. Throws
 * with the registry's reason, without credentials.
 */
export async function registerSchema(options: RegisterOptions): Promise<number> {
  const { subject, schema, signal, timeoutMs = 10_000 } = options;
  const { base, origin, headers } = registryAddress(options.url);
  const fail = (what: string, cause?: unknown) =>
    new Error(`Cannot register a schema for ${subject}: the schema registry at ${origin} ${what}`, { cause });
  let response: Response;
  let text: string;
  try {
    response = await fetch(`${base}/subjects/${encodeURIComponent(subject)}/versions`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/vnd.schemaregistry.v1+json' },
      body: JSON.stringify({ schema }),
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    });
    text = await response.text();
  } catch (cause) {
    signal.throwIfAborted();
    const { code } = ((cause as { cause?: unknown }).cause ?? {}) as { code?: string };
    throw fail(`gives no answer${code ? ` (${code})` : ''}`, cause);
  }
  const body = json(text);
  if (response.status === 200) {
    const registered = answer.safeParse(body);
    if (registered.success) return registered.data.id;
    throw fail('answered 200 with something other than an id');
  }
  const reason = refusal.safeParse(body);
  throw fail(`answered ${response.status}${reason.success ? `: ${reason.data.message}` : ''}`);
}

function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
