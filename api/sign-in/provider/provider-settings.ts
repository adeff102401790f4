import { type AccessToken, type Configuration, errors, type KoaContextWithOIDC } from 'oidc-provider';
import type { ServiceUrl } from '../../messages/service-url.ts';
import { borrowedName, type ClientMetadata, clientProblem, isOnDevice } from '../clients/client-policy.ts';
import { withHashedSecret } from '../clients/client-secrets.ts';
import { connectedAppsClientId, ownClients, ownIds } from '../clients/clients.ts';
import { grantClaim, readScope } from '../tokens/access-token.ts';
import { clientAuthMethods, paths } from '../tokens/metadata.ts';
import { allowRead, makeGrant } from './grants.ts';
import { lifetimes } from './lifetimes.ts';
import { providerAdapter, translated } from './provider-adapter.ts';
import type { ProviderOptions } from './provider-options.ts';
import { errorRenderer } from './provider-pages.ts';
import type { RiderErasure } from './rider-erasure.ts';

const stateLengthMax = 1000;

const epochSeconds = (): number => Math.floor(Date.now() / 1000);

/** Why a scope is refused. */
export const scopeWords = `the only scope here is ${readScope}`;

/** A request is stored until its sign-in ends, and anybody may begin one. The app gets the error, with its state. */
function checkStateLength(_ctx: unknown, state: string | undefined): void {
  if (state !== undefined && state.length > stateLengthMax)
    throw new errors.InvalidRequest(`state must have at most ${stateLengthMax} characters`);
}

/**
 * oidc-provider's configuration: OAuth 2.1 only. No id tokens, userinfo, pushed requests, DPoP, implicit flow or optional
 * PKCE; one scope and one resource (docs/rules.md#code-flow). callbacks.md says in which order it calls us back.
 */
export function providerSettings(options: ProviderOptions, erasure: RiderErasure): Configuration {
  const { service } = options;
  const clients = [...ownClients(service.origin), ...options.clients];
  const check = clientCheck(clients, options.knownClients);
  return {
    adapter: (kind: string) => providerAdapter(kind, options, erasure),
    // The operator's own name for a client is good enough for riders. No client has a scope, since there is but one: of
    // another, oidc-provider would say no more than that this client may not have it.
    clients: clients.map(({ scope: _, client_id, ...client }) => ({
      client_id: String(client_id),
      ...withHashedSecret({ client_id, client_name: client_id, ...client }),
    })),
    // Keys that can sign. A key without its private part is known to the token checker only.
    jwks: { keys: options.keys.filter((key) => key.d !== undefined) } as NonNullable<Configuration['jwks']>,
    scopes: [readScope],
    claims: {},
    responseTypes: ['code'],
    clientAuthMethods: [...clientAuthMethods],
    clientDefaults: {
      grant_types: ['authorization_code', 'refresh_token'],
      // There are no id tokens, but oidc-provider checks for each client that a key could sign them.
      id_token_signed_response_alg: 'ES256',
    },
    extraParams: { state: checkStateLength },
    // docs/rules.md#code-flow
    pkce: { required: () => true },
    issueRefreshToken: async (_ctx, client) => client.grantTypeAllowed('refresh_token'),
    rotateRefreshToken: true,
    // Also by an access token (docs/rules.md#revocation).
    revokeGrantPolicy: async () => true,
    extraTokenClaims: async (_ctx, token) => ({ [grantClaim]: (token as AccessToken).grantId }),
    // Signing out ends the browser's session. Apps stay connected (docs/rules.md#signing-out).
    expiresWithSession: async () => false,
    loadExistingGrant: translated(async (ctx: KoaContextWithOIDC) => await existingGrant(ctx, options)),
    findAccount: translated(async (_ctx: unknown, sub: string) =>
      (await erasure.isGone(sub)) ? undefined : { accountId: sub, claims: async () => ({ sub }) },
    ),
    interactions: {
      url: (_ctx, interaction) => `${paths.signIn}/${interaction.uid}`,
    },
    ttl: {
      AccessToken: lifetimes.accessToken,
      AuthorizationCode: lifetimes.code,
      Grant: lifetimes.grant,
      Interaction: lifetimes.interaction,
      // Not from its last use. The cookie lasts as long as the browser is open.
      Session: (_ctx, { loginTs = epochSeconds() }) => Math.max(1, loginTs + lifetimes.session - epochSeconds()),
      RefreshToken: (ctx) => {
        const grantEnd = ctx.oidc.entities.Grant?.exp ?? Number.POSITIVE_INFINITY;
        return Math.max(1, Math.min(lifetimes.refreshToken, grantEnd - epochSeconds()));
      },
    },
    cookies: {
      keys: [...options.cookieKeys],
      names: cookieNames(service),
      long: { httpOnly: true, sameSite: 'lax', signed: true, path: '/' },
      short: { httpOnly: true, sameSite: 'lax', signed: true },
    },
    extraClientMetadata: {
      // A metadata member of our own. Its check runs for every client, however it was registered.
      properties: ['skip_consent'],
      validator: (_ctx, _key, _value, metadata) => check(metadata as ClientMetadata),
    },
    features: {
      devInteractions: { enabled: false },
      userinfo: { enabled: false },
      dPoP: { enabled: false },
      pushedAuthorizationRequests: { enabled: false },
      // Only for its metadata and its match of addresses. The pages are ours (routes/sign-out.ts)
      rpInitiatedLogout: { enabled: true },
      // docs/rules.md#revocation
      revocation: {
        enabled: true,
        // Tokens of other clients are ignored like unknown ones, so that nobody learns whose a token is (RFC 7009).
        // And so is one whose connection has ended already.
        allowedPolicy: async (_ctx, client, token) =>
          token.clientId === client.clientId &&
          (await options.store.find('Grant', (token as { grantId?: string }).grantId ?? '')) !== null,
      },
      registration: { enabled: options.registration, issueRegistrationAccessToken: false },
      clientIdMetadataDocument: {
        enabled: options.metadataFetch !== null,
        ack: 'draft-02',
      },
      resourceIndicators: {
        enabled: true,
        defaultResource: async () => service.resource,
        useGrantedResource: async () => true,
        getResourceServerInfo: async (ctx, resource) => {
          if (resource !== service.resource)
            throw new errors.InvalidTarget(`the only resource here is ${service.resource}`);
          // oidc-provider drops unknown scopes silently. A client should learn that it asks for too much.
          const unknown = [...scopesOf(ctx)].filter((scope) => scope !== readScope);
          if (unknown.length > 0) throw new errors.InvalidScope(scopeWords, unknown.join(' '));
          return {
            scope: readScope,
            audience: service.resource,
            accessTokenTTL: lifetimes.accessToken,
            accessTokenFormat: 'jwt',
            jwt: { sign: { alg: 'ES256', kid: options.keys[0].kid } },
          };
        },
      },
    },
    fetchResponseBodyLimits: { 'client_id metadata document': Number.POSITIVE_INFINITY },
    // oidc-provider fetches nothing but client ID metadata documents. document-fetch.ts has their limits.
    fetch: options.metadataFetch ?? (() => Promise.reject(new Error('nothing is fetched'))),
    renderError: errorRenderer(service),
    routes: {
      authorization: paths.authorize,
      token: paths.token,
      revocation: paths.revoke,
      registration: paths.register,
      jwks: paths.jwks,
    },
    // Open to every origin: there are no cookies at these endpoints, and only those who know the secrets get an answer.
    clientBasedCORS: () => true,
    clockTolerance: 0,
  };
}

/** Cookies belong to a host, whatever the port: services on one machine need different names. With https: `__Host-`. */
function cookieNames({ https, host }: ServiceUrl): { session: string; interaction: string; resume: string } {
  const name = `ride_calendar_${https ? '' : `${/:(\d+)$/.exec(host)?.[1] ?? 80}_`}`;
  return {
    session: `${https ? '__Host-' : ''}${name}session`,
    interaction: `${https ? '__Secure-' : ''}${name}interaction`,
    resume: `${https ? '__Secure-' : ''}${name}resume`,
  };
}

/** Refuses a client; makes it native if it has an address on the rider's device, unless it is the service's own. */
function clientCheck(clients: readonly ClientMetadata[], known: ReadonlySet<string>): (client: ClientMetadata) => void {
  const isBorrowed = borrowedName(clients);
  return (metadata) => {
    const id = String(metadata.client_id);
    const problem = clientProblem(metadata);
    // oidc-provider makes it `invalid_redirect_uri` where it begins with `redirect_uris`.
    if (problem !== null) throw new errors.InvalidClientMetadata(problem);
    if (!known.has(id) && isBorrowed(metadata))
      throw new errors.InvalidClientMetadata(
        'client_name is, or looks like, that of this service or of another app here',
      );
    // Only the operator knows whose website it is (docs/rules.md#consent).
    if (!known.has(id) && metadata.skip_consent)
      throw new errors.InvalidClientMetadata('skip_consent is for clients of the operator’s file only');
    if (isOnDevice(metadata) && !ownIds.has(id)) metadata.application_type = 'native';
  };
}

function scopesOf(ctx: KoaContextWithOIDC): Set<string> {
  const scope = ctx.oidc.params?.scope;
  return new Set(typeof scope === 'string' ? scope.split(' ').filter((part) => part !== '') : []);
}

/**
 * The grant with which the rider need not be asked (docs/rules.md#consent): the one just consented to; or, for a web
 * client, one of the same session; or a new one, for a client that skips consent. oidc-provider itself asks each time
 * for a native client. The page of connected apps needs no consent, because it reads nothing.
 */
async function existingGrant({ oidc }: KoaContextWithOIDC, { service, consentSkippers, audit }: ProviderOptions) {
  const { Grant } = oidc.provider;
  const of = { accountId: oidc.account!.accountId, clientId: oidc.client!.clientId };
  if (of.clientId === connectedAppsClientId) return allowRead(new Grant(of), service);
  const consented = oidc.result?.consent as { grantId?: string } | undefined;
  const id = consented?.grantId ?? oidc.session?.grantIdFor(of.clientId);
  const grant = id === undefined ? undefined : await Grant.find(id);
  if (grant) return grant;
  // With a `prompt` that is still to be answered, another rider may sign in, or this one may say no.
  const isAsked = oidc.promptPending('login') || oidc.promptPending('consent');
  if (isAsked || !consentSkippers.has(of.clientId)) return undefined;
  const skipped = await makeGrant(oidc.provider, service, of);
  audit('consent_skipped', { client: of.clientId });
  return skipped;
}
