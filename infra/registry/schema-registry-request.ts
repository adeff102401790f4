/** A registry's response to one request. */
export type RegistryAnswer =
  | { schema: string; isAvro: boolean; references: { subject: string; version: number }[] }
  /** The registry says that there is no such schema. */
  | { missing: true }
  /** There was no valid response. The reason, without credentials. A later attempt may succeed. */
  | { away: string };

/**
 * One GET to a schema registry (Confluent's API). Only a valid response can make a record bad. Everything else counts
 * as away: network errors, time-outs, 401, 403, 429, 5xx, a proxy's page.
 */
export async function readRegistry(registryUrl: string, path: string, signal: AbortSignal): Promise<RegistryAnswer> {
  const { base, origin, headers } = registryAddress(registryUrl);
  const away = (what: string) => ({ away: `the schema registry at ${origin} ${what}` });
  try {
    const response = await fetch(base + path, { headers, signal });
    if (response.status !== 200 && response.status !== 404) {
      await response.body?.cancel();
      return away(`answered ${response.status}`);
    }
    const text = await response.text();
    // A page instead of JSON: something else listens there, or the path is wrong.
    const isPage = response.headers.get('content-type')?.startsWith('text/html') ?? false;
    if (response.status === 404) return isPage ? away('answered 404 with a web page') : { missing: true };
    return readSchema(text) ?? away('answered 200 with something other than a schema');
  } catch (error) {
    if (signal.aborted) return away('did not answer in time');
    const cause = (error as { cause?: { code?: string } }).cause;
    return away(`can't be reached${cause?.code ? ` (${cause.code})` : ''}`);
  }
}

/** Where to send requests, and with which headers. `origin`, for messages, has no credentials. */
export function registryAddress(registryUrl: string): {
  base: string;
  origin: string;
  headers: Record<string, string>;
} {
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

function readSchema(text: string): RegistryAnswer | null {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof body !== 'object' || body === null) return null;
  const { schema, schemaType, references } = body as Record<string, unknown>;
  if (typeof schema !== 'string') return null;
  return {
    schema,
    // Registries leave out the type if it is Avro.
    isAvro: schemaType === undefined || schemaType === null || schemaType === 'AVRO',
    references: Array.isArray(references) ? references : [],
  };
}
