import type { FastifyInstance } from 'fastify';
import { isLoopback, type ServiceUrl, serviceUrl } from '../../messages/service-url.ts';
import { type AuditTrail, noAudit } from '../../ports/audit-trail.ts';
import { clientAddress, keepClientAddress, warnOfUnnamedProxy } from '../clients/client-address.ts';
import { ownIds } from '../clients/clients.ts';
import { documentFetch } from '../clients/document-fetch.ts';
import { rateLimits } from '../clients/rate-limit.ts';
import { providerTrouble, troubles } from '../pages/error-page.ts';
import { grantsOf } from '../provider/grants.ts';
import { defaultLifetimes, type Lifetimes } from '../provider/lifetimes.ts';
import { openProvider } from '../provider/provider.ts';
import { isAway } from '../provider/provider-adapter.ts';
import type { ProviderOptions } from '../provider/provider-options.ts';
import { riderErasure } from '../provider/rider-erasure.ts';
import { type UpstreamSettings, upstreamSignIn } from '../provider/upstream-sign-in.ts';
import { paths } from '../tokens/metadata.ts';
import { sealedStore } from '../tokens/sealed-store.ts';
import { addConnectedApps } from './connected-apps.ts';
import { createCsrf } from './csrf.ts';
import { addEndpoints, isForPrograms, refuseRequest, sendFault } from './endpoints.ts';
import { addInteractions } from './interactions.ts';
import { pageSender } from './page-sender.ts';
import { isBodyError, takeBodies } from './request-body.ts';
import type { SignInParts } from './sign-in-parts.ts';
import { addSignOut } from './sign-out.ts';
import { addUpstreamRoutes, upstreamTroubles } from './upstream-routes.ts';

export interface SignInDeps
  extends Omit<ProviderOptions, 'service' | 'riderGone' | 'knownClients' | 'providerHost' | Optional> {
  /** BASE_URL, such as `http://127.0.0.1:8080/api`. */
  baseUrl: string;
  /**
   * SIGN_IN_ISSUER and its companions; or, in the embedded default, picking a rider at the address listened on; or
   * null: nobody can sign in.
   */
  who: { upstream: UpstreamSettings } | { pickerAt: string } | null;
  /** Called with each security event. */
  audit?: AuditTrail;
  /** Whether TRUST_PROXY is set. */
  proxiesNamed: boolean;
  /** Tests pass other values. */
  lifetimes?: Partial<Lifetimes>;
  sweepDelayMs?: number;
}
type Optional = 'audit' | 'lifetimes';

export interface SignIn {
  /**
   * A rider was found to be gone: destroys their grants, sessions, codes and refresh tokens. Harmless to repeat. Never
   * throws: what fails is repeated by a sweep.
   */
  eraseRider(riderId: string): Promise<void>;
  /** Does so for every rider who is gone. Throws if it is not known who exists. */
  sweep(): Promise<void>;
  /** The same after a moment, repeated until it succeeds: for erasures that may have been missed. */
  sweepSoon(): void;
  close(): Promise<void>;
}

/**
 * Mounts the authorization server on the service's own origin: /oauth/… with its pages, and /.well-known/…. Throws if a
 * client of the file is refused, or if riders could be picked from another machine.
 */
export async function registerSignIn(app: FastifyInstance, deps: SignInDeps): Promise<SignIn> {
  const { logger, audit = noAudit, clients } = deps;
  const store = sealedStore(deps.store, deps.cookieKeys);
  const lifetimes = { ...defaultLifetimes, ...deps.lifetimes };
  const service = serviceUrl(deps.baseUrl);
  checkPicker(deps);
  const limits = rateLimits(store);
  const who = whoSignsIn(deps.who, service);
  const options: ProviderOptions = {
    service,
    store,
    riders: deps.riders,
    riderGone: (rider) => void erasure.gone(rider),
    audit,
    keys: deps.keys,
    cookieKeys: deps.cookieKeys,
    clients,
    knownClients: new Set([...ownIds, ...clients.map(({ client_id: id }) => String(id))]),
    registration: deps.registration,
    metadataFetch: deps.metadataFetch && documentFetch({ fetchPublic: deps.metadataFetch, limits, clientAddress }),
    lifetimes,
    providerHost: typeof who === 'object' ? who.providerHost : null,
    logger,
  };
  const provider = await openProvider(options);
  const grants = grantsOf(provider, store, service);
  const erasure = riderErasure({ store, grants, riders: deps.riders, logger, sweepDelayMs: deps.sweepDelayMs });
  const pages = pageSender(service);
  const upstreamTrouble = upstreamTroubles(logger);
  const csrf = createCsrf(deps.cookieKeys, service.origin);
  const parts: SignInParts = { ...options, provider, grants, limits, pages, csrf, who };

  await app.register(async (scope) => {
    takeBodies(scope, 'application/x-www-form-urlencoded');
    scope.setErrorHandler((error, request, reply) => {
      // Only the path: queries contain codes.
      const path = request.raw.url!.split('?')[0]!;
      if (isBodyError(error)) {
        const status = error.statusCode!;
        if (isForPrograms(request.routeOptions.url ?? path)) return refuseRequest(reply, status, error.message);
        return pages.trouble(reply.header('Connection', 'close'), { ...troubles.unreadable, status });
      }
      const trouble = upstreamTrouble(error);
      if (trouble) return pages.trouble(reply, trouble);
      const status = (error as { statusCode?: number }).statusCode ?? 500;
      const away = isAway(error);
      const refused = status < 500;
      if (refused) logger.debug({ path, reason: (error as Error).message }, 'request refused');
      else logger.error({ err: error, path }, 'sign-in failed');
      if (isForPrograms(path)) return refused ? refuseRequest(reply, status) : sendFault(reply, away);
      if (away) return pages.trouble(reply, 'away');
      return pages.trouble(reply, providerTrouble(refused ? 'invalid_request' : 'server_error', status));
    });
    keepClientAddress(scope);
    if (service.https && !deps.proxiesNamed) warnOfUnnamedProxy(scope, logger);
    addEndpoints(scope, parts);
    addInteractions(scope, parts);
    if (typeof who === 'object') addUpstreamRoutes(scope, parts, who, upstreamTrouble);
    addSignOut(scope, parts);
    addConnectedApps(scope, parts);
  });

  if (who === 'nobody')
    logger.warn(
      'nobody can sign in: set SIGN_IN_ISSUER, or, to try an archive on this machine alone, SIGN_IN=pick (made-up riders can be picked without it)',
    );
  // Not awaited: if sign-in's store is away, reads must start all the same.
  void store.risk().then(
    (risk) => risk !== null && logger.warn(risk),
    (error: unknown) => logger.warn({ err: error }, 'cannot tell whether the store of sign-ins outlives a restart'),
  );
  return {
    eraseRider: erasure.gone,
    sweep: erasure.sweep,
    sweepSoon: erasure.sweepSoon,
    async close() {
      erasure.close();
      await store.close();
    },
  };
}

function whoSignsIn(who: SignInDeps['who'], service: ServiceUrl): SignInParts['who'] {
  if (who === null) return 'nobody';
  return 'upstream' in who ? upstreamSignIn(who.upstream, service.origin + paths.callback) : 'picker';
}

/**
 * Riders are picked without proof. Only a person at this machine may do so, and only if no other machine can reach it.
 */
function checkPicker({ who, baseUrl }: SignInDeps): void {
  if (who === null || !('pickerAt' in who)) return;
  for (const [name, host] of [
    ['HOST', who.pickerAt],
    ['BASE_URL', new URL(baseUrl).hostname],
  ] as const)
    if (!isLoopback(host))
      throw new Error(
        `Cannot let riders be picked at ${name} ${host}: want a loopback address such as 127.0.0.1, or SIGN_IN_ISSUER for riders to prove who they are`,
      );
}
