import type { ClientMetadata } from './client-policy.ts';
import { knownMetadata } from './registration-request.ts';

const jsonType = /^application\/([\w.-]+\+)?json\s*(;|$)/i;

// As long as a document is kept at most where its headers say so.
const staleMs = 86_400_000;
const keptMax = 100;

/**
 * A fetch of client ID metadata documents that leaves out of them what means nothing here: keys, endpoints to be
 * called, choices of OpenID Connect. What the library has to judge stays. Where a document can't be had for a while,
 * the last one stands in for up to a day: an app can refresh though the host of its document has a fault.
 */
export function documentFetch(fetchPublic: typeof fetch, nowMs: () => number = Date.now): typeof fetch {
  const lastGood = new Map<string, { body: string; fetchedMs: number }>();

  const standIn = (url: string): Response | null => {
    const last = lastGood.get(url);
    return last && nowMs() - last.fetchedMs < staleMs ? new Response(last.body) : null;
  };
  const keep = (url: string, body: string): void => {
    lastGood.delete(url);
    lastGood.set(url, { body, fetchedMs: nowMs() });
    if (lastGood.size > keptMax) lastGood.delete(lastGood.keys().next().value!);
  };

  return async (input, init) => {
    const url = typeof input === 'object' && 'url' in input ? input.url : String(input);
    let response: Response;
    try {
      response = await fetchPublic(input, init);
    } catch (cause) {
      const last = standIn(url);
      if (last === null) throw cause;
      return last;
    }
    if (response.status >= 500) return standIn(url) ?? response;
    if (response.status !== 200) {
      // Its makers took it away.
      lastGood.delete(url);
      return response;
    }
    const body = await meaningful(response);
    keep(url, body);
    const headers = new Headers();
    for (const name of ['cache-control', 'expires']) {
      const value = response.headers.get(name);
      if (value !== null) headers.set(name, value);
    }
    return new Response(body, { headers });
  };
}

/** What means something here of a document, as JSON. */
async function meaningful(response: Response): Promise<string> {
  // Where anybody may leave files, they come as another type: such a host does not speak for them.
  if (!jsonType.test(response.headers.get('content-type') ?? '')) throw new TypeError('the document is not JSON');
  const document = (await response.json()) as ClientMetadata;
  if (typeof document !== 'object' || document === null || Array.isArray(document))
    throw new TypeError('the document is not a JSON object');
  const kept: ClientMetadata = knownMetadata(document);
  for (const member of ['client_id', 'client_secret', 'client_secret_expires_at'])
    if (document[member] !== undefined) kept[member] = document[member];
  // Written for many servers: which of its scopes are asked for here, the request says.
  delete kept.scope;
  // The default is for clients with a secret, which such a document can't hold.
  kept.token_endpoint_auth_method ??= 'none';
  return JSON.stringify(kept);
}
