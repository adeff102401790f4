import type { FastifyInstance } from 'fastify';
import { clientName, documentHost, redirectWords } from '../clients/client-words.ts';
import { type SignOutRequest, signedOutPage, signOutPage } from '../pages/sign-out-pages.ts';
import { paths } from '../tokens/metadata.ts';
import { signedOutCookie, signedOutSeconds } from './own-cookies.ts';
import { formOf } from './request-body.ts';
import type { SignInParts } from './sign-in-parts.ts';

/**
 * Ends the session of a rider's browser, and nothing else (docs/rules.md#signing-out): as the rider's own page, and as
 * OpenID Connect's RP-initiated logout, where an app sends its rider here.
 */
export function addSignOut(app: FastifyInstance, parts: SignInParts): void {
  const { service, provider, pages, who, audit } = parts;
  const upstreamHost = typeof who === 'object' ? who.host : null;
  const signedOut = signedOutCookie(service);

  app.get(paths.signOut, async (request, reply) => {
    const asked = await requestOf(parts, new URLSearchParams(request.raw.url!.split('?').slice(1).join('?')));
    const { accountId } = await provider.session(request, reply);
    return pages.page(reply, accountId === undefined ? signedOutPage(asked, upstreamHost) : signOutPage(asked));
  });

  app.post(paths.signOut, async (request, reply) => {
    const asked = await requestOf(parts, formOf(request));
    const session = await provider.session(request, reply);
    const isSignedIn = session.accountId !== undefined;
    if (isSignedIn) {
      await session.destroy();
      signedOut.set(reply, '1', signedOutSeconds);
      audit('sign_out', { client: asked.client?.id });
    }
    // Without a session nobody is sent anywhere: this address would send any browser on.
    if (isSignedIn && asked.back && asked.client?.isKnown) return pages.goOn(reply, asked.back.to, asked.back.words);
    const query = asked.fields.size > 0 ? `?${asked.fields}` : '';
    return reply.redirect(service.origin + paths.signOut + query, 303);
  });
}

/** Which app wants its rider signed out, and where it wants them back: at an address that it registered for that. */
async function requestOf({ provider, knownClients }: SignInParts, params: URLSearchParams): Promise<SignOutRequest> {
  const fields = new URLSearchParams();
  for (const name of ['client_id', 'post_logout_redirect_uri', 'state'])
    if (params.has(name)) fields.set(name, params.get(name)!);
  const [id, uri, state] = [fields.get('client_id'), fields.get('post_logout_redirect_uri'), fields.get('state')];
  if (id === null) return { client: null, back: null, isRefused: false, fields };
  // No document is fetched for this: anybody could have the service fetch one. Its address says whose it is.
  const host = documentHost({ clientId: id });
  const client = host === null ? await provider.client(id) : undefined;
  const name = client ? clientName(client) : host;
  const isAllowed = uri !== null && client?.postLogoutRedirectUriAllowed(uri) === true;
  const back = isAllowed ? new URL(uri) : null;
  if (state !== null) back?.searchParams.set('state', state);
  return {
    client: name === null ? null : { id, name, isKnown: knownClients.has(id) },
    back: back && { to: back.href, words: redirectWords(uri!) },
    isRefused: uri !== null && !isAllowed,
    fields,
  };
}
