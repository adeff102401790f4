import { DocumentAwayError, type MetadataFetch } from '../../ports/metadata-fetch.ts';
import { clientAddress } from '../limits/client-address.ts';
import type { RateLimits } from '../limits/rate-limit.ts';
import { type ClientMetadata, knownMetadata } from './client-policy.ts';

const jsonType = /^application\/([\w.-]+\+)?json\s*(;|$)/i;
const urlLengthMax = 1000;

/** Fetches client ID metadata documents for oidc-provider, within limits. It keeps each as long as its headers say. */
export const documentFetch =
  (fetchPublic: MetadataFetch, limits: Pick<RateLimits, 'documents'>): typeof fetch =>
  async (input) => {
    const url = String(input);
    if (url.length > urlLengthMax) throw new TypeError(`the URL has more than ${urlLengthMax} characters`);
    const address = clientAddress();
    if (address !== undefined && (await limits.documents(address)) !== null)
      throw new DocumentAwayError('too many documents are being fetched');
    const response = await fetchPublic(url);
    if (response.status >= 500) throw new DocumentAwayError(`its host answers with status ${response.status}`);
    if (response.status !== 200) return response;
    return Response.json(await meaningful(response), { headers: response.headers });
  };

/** The members of a document that have a meaning here, and those that oidc-provider has to check, as JSON. */
async function meaningful(response: Response): Promise<ClientMetadata> {
  // A host where anybody may upload files serves them as another type. Such a host does not vouch for them.
  if (!jsonType.test(response.headers.get('content-type') ?? '')) throw new TypeError('it is not JSON');
  const document = (await response.json()) as ClientMetadata;
  if (typeof document !== 'object' || document === null || Array.isArray(document))
    throw new TypeError('it is not a JSON object');
  const kept: ClientMetadata = knownMetadata(document);
  for (const member of ['client_id', 'client_secret', 'client_secret_expires_at'])
    if (document[member] !== undefined) kept[member] = document[member];
  // RFC 7591's default is for clients with a secret, which such a document cannot contain.
  kept.token_endpoint_auth_method ??= 'none';
  return kept;
}
