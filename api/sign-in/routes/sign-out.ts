import type { FastifyInstance } from 'fastify';
import { signedOutPage, signOutPage } from '../pages/pages.ts';
import { paths } from '../tokens/metadata.ts';
import type { SignInParts } from './sign-in-parts.ts';

/** Ends the session of a rider's browser, and nothing else (docs/rules.md#signing-out). */
export function addSignOut(app: FastifyInstance, { service, provider, pages, who, audit }: SignInParts) {
  const upstreamHost = typeof who === 'object' ? who.host : null;
  app.get(paths.signOut, async (request, reply) => {
    const { accountId } = await provider.session(request, reply);
    return pages.page(reply, accountId === undefined ? signedOutPage(upstreamHost) : signOutPage);
  });

  app.post(paths.signOut, async (request, reply) => {
    const session = await provider.session(request, reply);
    if (session.accountId !== undefined) {
      await session.destroy();
      audit('sign_out');
    }
    return reply.redirect(service.origin + paths.signOut, 303);
  });
}
