import type { FastifyInstance } from 'fastify';
import { keepClientAddress, warnOfUnnamedProxy } from '../limits/client-address.ts';
import { addConnectedApps } from './connected-apps.ts';
import { addEndpoints } from './endpoints.ts';
import { answerFaults } from './faults.ts';
import { addInteractions } from './interactions.ts';
import { takeForms, takeOwnForms } from './request-body.ts';
import { type SignInDeps, signInParts } from './sign-in-parts.ts';
import { addSignOut } from './sign-out.ts';
import { addUpstreamRoutes } from './upstream-routes.ts';

/** Mounts the authorization server. Throws for a refused client of the file, or riders to pick from elsewhere. */
export async function registerSignIn(app: FastifyInstance, deps: SignInDeps) {
  const parts = await signInParts(deps);
  const { service, store, provider, logger, who } = parts;

  await app.register(async (scope) => {
    takeForms(scope);
    answerFaults(scope, parts);
    keepClientAddress(scope);
    if (service.https && !deps.proxiesNamed) warnOfUnnamedProxy(scope, logger);
    addEndpoints(scope, parts);
    if (typeof who === 'object') addUpstreamRoutes(scope, parts, who);
    await scope.register(async (forms) => {
      takeOwnForms(forms, parts);
      addInteractions(forms, parts);
      addSignOut(forms, parts);
      addConnectedApps(forms, parts);
    });
  });

  if (who === 'nobody')
    logger.warn(
      'nobody can sign in: set SIGN_IN_ISSUER, or, to try an archive on this machine alone, SIGN_IN=pick (made-up riders can be picked without it)',
    );
  // Not awaited: if sign-in's store is away, reads must start all the same.
  void store.risk().then(
    (risk) => risk !== null && logger.warn(risk),
    ({ message }: Error) => logger.warn(`cannot tell whether the store of sign-ins outlives a restart: ${message}`),
  );
  const { close, ...erasure } = provider.erasure;
  return {
    ...erasure,
    async close() {
      close();
      await store.close();
    },
  };
}

export type SignIn = Awaited<ReturnType<typeof registerSignIn>>;
