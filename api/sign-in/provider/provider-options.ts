import type { FastifyBaseLogger } from 'fastify';
import type { ServiceUrl } from '../../messages/service-url.ts';
import type { AuditTrail } from '../../ports/audit-trail.ts';
import type { RiderDirectory } from '../../ports/rider-directory.ts';
import type { StateStore } from '../../ports/sign-in-state.ts';
import type { ClientMetadata } from '../clients/client-policy.ts';
import type { SigningKeys } from '../tokens/signing-keys.ts';

/** What oidc-provider is made of. */
export interface ProviderOptions {
  service: ServiceUrl;
  /** Closed with the application. */
  store: StateStore;
  riders: RiderDirectory;
  /** Called with each security event. */
  audit: AuditTrail;
  keys: SigningKeys;
  /** Newest first, 32 characters or more each. All instances have the same. */
  cookieKeys: readonly string[];
  /** Those of OAUTH_CLIENTS. */
  clients: readonly ClientMetadata[];
  /** Ids of clients that did not introduce themselves: those of OAUTH_CLIENTS and our own. */
  knownClients: ReadonlySet<string>;
  /** Ids of those of OAUTH_CLIENTS whose riders are not asked for consent. */
  consentSkippers: ReadonlySet<string>;
  /** OAUTH_REGISTRATION. */
  registration: boolean;
  /** OAUTH_CLIENT_METADATA: the fetch of client ID metadata documents. Null if they are off. */
  metadataFetch: typeof fetch | null;
  logger: FastifyBaseLogger;
}
