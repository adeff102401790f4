import type { EventEmitter } from 'node:events';
import type { FastifyBaseLogger } from 'fastify';
import type { errors, KoaContextWithOIDC, Provider } from 'oidc-provider';
import { clientKind, settleRedemption } from './library-adapter.ts';
import type { Lifetimes } from './lifetimes.ts';
import { storeId } from './sealed-store.ts';
import type { StateStore } from './state-store.ts';

/** What has to be done, or said, at things that happen in the library. */
export function listenToLibrary(
  provider: Provider,
  store: StateStore,
  lifetimes: Lifetimes,
  logger: FastifyBaseLogger,
): void {
  const doing = (what: string, work: Promise<unknown>): void => {
    work.catch((error: unknown) => logger.warn({ err: error }, what));
  };

  provider.use(async (ctx, next) => {
    await next();
    if (ctx.status === 503) ctx.set('Retry-After', '5');
  });

  provider.on('grant.success', (ctx: KoaContextWithOIDC) => {
    doing('cannot settle a redemption', settleRedemption(store));
    // A client that is in use stays registered.
    const id = ctx.oidc.client?.clientId;
    if (id !== undefined) doing('cannot extend a registration', store.extend(clientKind, id, lifetimes.usedClient));
  });

  provider.on('grant.error', (ctx: KoaContextWithOIDC, error: errors.OIDCProviderError) => {
    logger.debug({ error: error.error, detail: error.error_detail }, 'token request refused');
    if (error.error === 'invalid_grant') doing('cannot burn a code', burnGuessedCode(ctx, store));
  });

  provider.on('server_error', (ctx: KoaContextWithOIDC, error: Error) => {
    logger.error({ err: error, path: ctx.path }, 'sign-in failed');
  });
  // Else Koa writes to standard error by itself.
  (provider as EventEmitter).on('error', (error: Error) => logger.error({ err: error }, 'sign-in failed'));
}

/**
 * A code that its own client, which has shown who it is, redeems with a wrong verifier or address is somebody's guess:
 * there is no second one.
 */
async function burnGuessedCode(ctx: KoaContextWithOIDC, store: StateStore): Promise<void> {
  const { code, grant_type: grantType } = ctx.oidc.params ?? {};
  if (grantType !== 'authorization_code' || typeof code !== 'string' || !ctx.oidc.client) return;
  const id = storeId('AuthorizationCode', code);
  const entry = await store.find('AuthorizationCode', id);
  if (entry?.payload.clientId === ctx.oidc.client.clientId && entry.marks.consumed === undefined)
    await store.remove('AuthorizationCode', id);
}
