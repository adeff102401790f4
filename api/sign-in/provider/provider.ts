import type { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Client, errors, type Interaction, type KoaContextWithOIDC, Provider, type Session } from 'oidc-provider';
import type { ServiceUrl } from '../../messages/service-url.ts';
import { type AuditCause, auditEvents } from '../../ports/audit-trail.ts';
import { DocumentAwayError } from '../../ports/metadata-fetch.ts';
import { StoreAwayError } from '../../ports/view-reader.ts';
import type { ClientMetadata } from '../clients/client-policy.ts';
import { isSecretOf } from '../clients/client-secrets.ts';
import { clientName } from '../clients/client-words.ts';
import { readScope } from '../tokens/access-token.ts';
import { type Grantee, grantsOf, makeGrant } from './grants.ts';
import { lifetimes } from './lifetimes.ts';
import { clientKind, temporarilyUnavailable } from './provider-adapter.ts';
import type { ProviderOptions } from './provider-options.ts';
import { withholdErrors } from './provider-pages.ts';
import { providerSettings, scopeWords } from './provider-settings.ts';
import { riderErasure } from './rider-erasure.ts';

/** A request as oidc-provider should see it. */
export interface ProviderRequest {
  /** Path and query. */
  url: string;
  /** Replaces the request's own body, which has been read. */
  body?: { text: string; type: string };
  /** The format of errors, whatever the request accepts: endpoints for programs answer JSON. */
  accept?: 'application/json';
  /** Headers of the answer. */
  headers: Record<string, string>;
}

// With these headers a client could choose the host in the URLs that oidc-provider writes.
const forwarding = /^(x-)?forwarded(-.*)?$/;

/**
 * Opens oidc-provider, which implements the protocol, and is the only interface to it. oidc-provider answers raw
 * node:http requests; `answer` lets it answer those of Fastify routes. Throws if it refuses a client of OAUTH_CLIENTS.
 */
export async function openProvider(options: ProviderOptions) {
  const { service, store } = options;
  const erasure = riderErasure(options);
  const provider = new Provider(service.origin, providerSettings(options, erasure));
  listen(provider, options);
  withholdErrors(provider, options.knownClients);
  tellAwayDocuments(provider);
  provider.Client.prototype.compareClientSecret = function (actual) {
    return isSecretOf(this.clientId, actual, this.clientSecret ?? '');
  };
  await checkClients(provider, options.clients);
  // oidc-provider writes URLs with the host and scheme of the request. requestAs() gives it those of BASE_URL
  // (docs/rules.md#base-url), in the headers of a proxy that it is told to trust here.
  provider.proxy = true;
  const callback = provider.callback();
  const as = requestAs(service);

  /** The client with an id. Undefined if there is none any more. Throws if that cannot be told just now. */
  const client = async (id: string): Promise<Client | undefined> => {
    try {
      return await provider.Client.find(id);
    } catch (error) {
      if (error instanceof errors.InvalidClient || error instanceof errors.InvalidClientMetadata) return undefined;
      throw error;
    }
  };

  /** What a client is called. Its document may be away: the rider can read its id, and disconnect it all the same. */
  const nameOf = async (id: string): Promise<string> => {
    const found = await client(id).catch(() => undefined);
    return found ? clientName(found) : id;
  };

  return {
    erasure,
    grants: grantsOf(store, nameOf),
    makeGrant: (of: Grantee, id: string) => makeGrant(provider, service, of, id),
    client,
    nameOf,
    /**
     * Adds the redirect URI that a token request may leave out (OAuth 2.1): the verifier proves that it comes from whom
     * the code was for. oidc-provider wants one. For a code of nobody any will do.
     */
    async fillRedirectUri(form: URLSearchParams): Promise<void> {
      if (form.get('grant_type') !== 'authorization_code' || form.has('redirect_uri')) return;
      const code = await provider.AuthorizationCode.find(form.get('code') ?? '', { ignoreExpiration: true });
      form.set('redirect_uri', code?.redirectUri ?? service.origin);
    },
    /** The session of a request's browser. A new one if it has none. */
    session: (request: FastifyRequest, reply: FastifyReply): Promise<Session> =>
      provider.Session.get(provider.createContext(as(request, {}), reply.raw)),
    /** The interaction of a page, if the browser has its cookie. Null if it has ended or is another browser's. */
    async interaction(request: FastifyRequest, reply: FastifyReply, uid: string): Promise<Interaction | null> {
      const interaction = await provider.interactionDetails(as(request, {}), reply.raw).catch((error: Error) => {
        if (error.name === 'SessionNotFound') return null;
        throw error;
      });
      // The cookie is that of another interaction: the page is old, or of another browser.
      return interaction?.uid === uid ? interaction : null;
    },
    /** An interaction by its id, for requests to which browsers do not send its cookie. */
    interactionOf: (uid: string): Promise<Interaction | undefined> => provider.Interaction.find(uid),
    /** Has oidc-provider answer a Fastify request. Resolves once it has. */
    async answer(request: FastifyRequest, reply: FastifyReply, wanted: ProviderRequest): Promise<void> {
      reply.hijack();
      const response: ServerResponse = reply.raw;
      // Hijacking drops the headers that were set on the reply.
      for (const [name, value] of Object.entries(wanted.headers)) response.setHeader(name, value);
      await callback(as(request, wanted), response);
    },
  };
}

export type SignInProvider = Awaited<ReturnType<typeof openProvider>>;

/** Whether an error says that a store behind sign-in is away, so that trying again may help. */
export const isAway = (error: unknown): boolean =>
  error instanceof StoreAwayError || (error as { statusCode?: number }).statusCode === 503;

/** The raw request with the origin of BASE_URL, and what else oidc-provider should see of it. */
const requestAs =
  (service: ServiceUrl): ((request: FastifyRequest, as: Partial<ProviderRequest>) => IncomingMessage) =>
  ({ raw, ip }: FastifyRequest, { url, body, accept }: Partial<ProviderRequest>): IncomingMessage => {
    const headers: IncomingMessage['headers'] = {};
    for (const [name, value] of Object.entries(raw.headers)) if (!forwarding.test(name)) headers[name] = value;
    headers.host = service.host;
    headers['x-forwarded-proto'] = service.https ? 'https' : 'http';
    // The client's address as far as proxies are trusted. Rate limits count by it.
    headers['x-forwarded-for'] = ip;
    if (accept) headers.accept = accept;
    // oidc-provider knows no HEAD. It answers as to a GET, and node:http leaves out the body.
    const method = raw.method === 'HEAD' ? 'GET' : raw.method;
    const own: Record<string, unknown> = { headers, method, url: url ?? raw.url };
    if (body !== undefined) {
      const bytes = Buffer.from(body.text);
      headers['content-type'] = body.type;
      headers['content-length'] = String(bytes.length);
      delete headers['transfer-encoding'];
      own.readable = true;
      own.iterator = async function* () {
        yield bytes;
      };
    }
    return Object.create(
      raw,
      Object.fromEntries(Object.entries(own).map(([name, value]) => [name, { value, writable: true }])),
    ) as IncomingMessage;
  };

/** Reacts to oidc-provider's events. */
function listen(provider: Provider, { store, logger, audit }: ProviderOptions): void {
  provider.use(async (ctx, next) => {
    await next();
    if (ctx.status === 503) ctx.set('Retry-After', '5');
    // Revocation has nothing to say. Some clients refuse a type that is not JSON, also of nothing.
    if (ctx.body === '') ctx.remove('Content-Type');
    lastByDuration(ctx, provider.cookieName('session'), lifetimes.interaction);
  });
  provider.on('registration_create.success', (ctx: KoaContextWithOIDC, client: Client) => {
    (ctx.body as ClientMetadata).scope = readScope;
    audit('client_registered', { client: client.clientId });
  });
  provider.on('grant.revoked', (ctx: KoaContextWithOIDC) => {
    audit('grant_ended', { client: ctx.oidc.client?.clientId, cause: 'revoked' });
  });
  provider.on('grant.success', (ctx: KoaContextWithOIDC) => {
    const cause = ctx.oidc.params?.grant_type === 'refresh_token' ? 'refresh_token' : 'code';
    audit('tokens_issued', { client: ctx.oidc.client?.clientId, cause });
    // A client that is used stays registered.
    const id = ctx.oidc.client?.clientId;
    if (id !== undefined)
      store.extend(clientKind, id, lifetimes.usedClient).catch((error: Error) => {
        logger.warn(`cannot extend a registration: ${error.message}`);
      });
  });
  provider.on('grant.error', (ctx: KoaContextWithOIDC, error: errors.OIDCProviderError & { retryAfter?: number }) => {
    if (error.retryAfter !== undefined) ctx.set('Retry-After', String(error.retryAfter));
    logger.debug({ error: error.error, detail: error.error_detail }, 'token request refused');
    const fault = error.error === 'invalid_grant' ? grantFault(error) : otherFault(error);
    audit('token_request_refused', { client: ctx.oidc.client?.clientId, cause: fault.cause });
    if (fault.words) (ctx.body as { error_description: string }).error_description = fault.words;
  });
  provider.on('server_error', (ctx: KoaContextWithOIDC, error: Error) => {
    logger.error({ err: error, path: ctx.path }, 'sign-in failed');
  });
  // Otherwise Koa writes to standard error.
  (provider as EventEmitter).on('error', (error: Error) => logger.error({ err: error }, 'sign-in failed'));
}

/**
 * oidc-provider says by its own clock when a cookie ends, so a clock that is slow would end it before it began. A pending
 * sign-in's lasts as long as that, a session's as long as the browser is open.
 */
function lastByDuration(ctx: Pick<KoaContextWithOIDC, 'response'>, session: string, seconds: number): void {
  const lines = [(ctx.response.get('Set-Cookie') as string | string[] | undefined) ?? []].flat();
  if (lines.length === 0) return;
  const durable = (line: string): string =>
    line.replace(/; expires=(?!Thu, 01 Jan 1970)[^;]*/i, line.startsWith(session) ? '' : `; max-age=${seconds}`);
  ctx.response.set('Set-Cookie', lines.map(durable));
}

/** An OAuth error as the audit trail names it. */
const otherFault = ({ error }: errors.OIDCProviderError): TokenFault => ({
  cause: auditEvents.token_request_refused.causes.find((cause) => cause === error) ?? 'other',
  ...(error === 'invalid_scope' && { words: scopeWords }),
});

interface TokenFault {
  cause: AuditCause<'token_request_refused'>;
  /** What the app is told. If absent: no more than that the request is invalid. */
  words?: string;
}

const after = 'ask the rider to sign in again';

/**
 * Why a code or refresh token was refused with `invalid_grant`, by oidc-provider's details. An app is told of its own
 * codes and tokens, and nothing of any other: else anybody could try what they found.
 */
function grantFault({ error_detail: detail = '', cause }: errors.OIDCProviderError): TokenFault {
  if (detail.includes('used already')) return { cause: 'grant_used', words: 'it was used already' };
  if (detail.includes('expired')) return { cause: 'grant_expired', words: `it has expired; ${after}` };
  if (/^grant not found|account not found|rider is gone/.test(detail))
    return { cause: 'grant_revoked', words: `its connection has ended; ${after}` };
  if (detail.includes('redirect_uri mismatch'))
    return { cause: 'grant_wrong', words: 'redirect_uri is not that of the authorization request' };
  // What is wrong with the code's verifier.
  return { cause: 'grant_wrong', ...(cause instanceof Error && { words: cause.message }) };
}

/** An app may try again while its document can't be fetched. At oidc-provider's own `invalid_client` it gives up. */
function tellAwayDocuments({ Client }: Provider): void {
  const find = Client.find.bind(Client);
  Client.find = async (id) => {
    try {
      return await find(id);
    } catch (error) {
      throw (error as Error).cause instanceof DocumentAwayError ? temporarilyUnavailable(error) : error;
    }
  };
}

/** Has oidc-provider check its clients now. By itself it does so at a client's first use, too late for the operator. */
async function checkClients(provider: Provider, clients: readonly ClientMetadata[]): Promise<void> {
  for (const [i, { client_id: id }] of clients.entries()) {
    try {
      await provider.Client.find(String(id));
    } catch (cause) {
      const { message, error_description: why } = cause as errors.OIDCProviderError;
      throw new Error(`Cannot use OAUTH_CLIENTS: client ${i + 1} (${JSON.stringify(id)}): ${why ?? message}`, {
        cause,
      });
    }
  }
}
