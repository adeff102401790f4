import type { ClientMetadata } from './client-policy.ts';
import { knownMetadata } from './registration-request.ts';

const jsonType = /^application\/([\w.-]+\+)?json\s*(;|$)/i;

/**
 * A fetch of client ID metadata documents that leaves out of them what means nothing here: keys, endpoints to be
 * called, choices of OpenID Connect. What the library has to judge stays.
 */
export function documentFetch(fetchPublic: typeof fetch): typeof fetch {
  return async (input, init) => {
    const response = await fetchPublic(input, init);
    if (response.status !== 200) return response;
    // Where anybody may leave files, they come as another type: such a host does not speak for them.
    if (!jsonType.test(response.headers.get('content-type') ?? '')) throw new TypeError('the document is not JSON');
    const text = await response.text();
    const document = JSON.parse(text) as ClientMetadata;
    if (typeof document !== 'object' || document === null || Array.isArray(document))
      throw new TypeError('the document is not a JSON object');
    const kept: ClientMetadata = knownMetadata(document);
    for (const member of ['client_id', 'client_secret', 'client_secret_expires_at'])
      if (document[member] !== undefined) kept[member] = document[member];
    // Written for many servers: which of its scopes are asked for here, the request says.
    delete kept.scope;
    // The default is for clients with a secret, which such a document can't hold.
    kept.token_endpoint_auth_method ??= 'none';
    const headers = new Headers();
    for (const name of ['cache-control', 'expires']) {
      const value = response.headers.get(name);
      if (value !== null) headers.set(name, value);
    }
    return Response.json(kept, { headers });
  };
}
