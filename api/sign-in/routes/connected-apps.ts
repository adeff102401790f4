import { createHash, randomBytes } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ServiceUrl } from '../../messages/service-url.ts';
import type { RiderCard } from '../../ports/rider-directory.ts';
import { connectedAppsClientId } from '../clients/clients.ts';
import { connectedAppsPage } from '../pages/pages.ts';
import { paths } from '../tokens/metadata.ts';
import { formOf } from './request-body.ts';
import type { SignInParts } from './sign-in-parts.ts';

interface SignedIn {
  rider: string;
  card: RiderCard;
}

/** The page where a rider sees which apps may read, and disconnects them (docs/rules.md#signing-out). */
export function addConnectedApps(app: FastifyInstance, parts: SignInParts): void {
  const { service, pages, knownClients, consentSkippers, audit } = parts;
  const { grants } = parts.provider;

  const show = async ({ rider, card }: SignedIn, reply: FastifyReply, disconnected?: string) =>
    pages.page(
      reply,
      connectedAppsPage({
        rider: card,
        apps: await grants.apps(rider),
        knownClients,
        consentSkippers,
        disconnected,
      }),
    );

  app.get(paths.connectedApps, async (request, reply) => {
    const query = request.raw.url!.split('?')[1];
    const who = await signedIn(parts, request, reply);
    if (who && query === undefined) return await show(who, reply);
    // The browser comes back from signing in with a code that nobody needs, or with an error because the rider said no.
    // After a no, asking again does not help.
    if (query !== undefined && new URLSearchParams(query).has('error')) return pages.trouble(reply, 'expired');
    return reply.redirect(service.origin + (who ? paths.connectedApps : signInFirst(service)), 303);
  });

  app.post(paths.connectedApps, async (request, reply) => {
    const form = formOf(request);
    const who = await signedIn(parts, request, reply);
    if (!who) return pages.trouble(reply, 'expired');
    const client = form.get('disconnect') ?? '';
    const name = await grants.disconnect(who.rider, client);
    if (name !== null) audit('disconnect', { client });
    return await show(who, reply, name ?? undefined);
  });
}

/** The rider of the browser's session. Null if there is no session, or its rider is gone. */
async function signedIn(
  { provider, riders }: SignInParts,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<SignedIn | null> {
  const { accountId: rider } = await provider.session(request, reply);
  const card = rider === undefined ? null : await riders.card(rider);
  return rider !== undefined && card ? { rider, card } : null;
}

/** Signs its rider in as an app does, for the session. The verifier is thrown away, so nobody can redeem the code. */
function signInFirst({ origin }: ServiceUrl): string {
  const query = new URLSearchParams({
    client_id: connectedAppsClientId,
    response_type: 'code',
    redirect_uri: origin + paths.connectedApps,
    code_challenge: createHash('sha256').update(randomBytes(32)).digest('base64url'),
    code_challenge_method: 'S256',
  });
  return `${paths.authorize}?${query}`;
}
