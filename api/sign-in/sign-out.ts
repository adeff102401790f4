import type { FastifyInstance } from 'fastify';
import type { Library } from '../oauth/library.ts';
import { parameterLengthMax } from '../oauth/library-requests.ts';
import { paths, signOutConfirm } from '../oauth/metadata.ts';
import { readForm } from '../oauth/request-body.ts';
import { redirectWords } from './client-words.ts';
import { libraryTrouble } from './error-page.ts';
import { pageHeaders, pagePolicy } from './page.ts';
import { signedOutPage } from './pages.ts';
import type { SignInParts } from './sign-in-parts.ts';

/**
 * Signing out: the library's end of a session, which a client may send a rider to and be returned to
 * (docs/rules.md#signing-out).
 */
export function addSignOut(app: FastifyInstance, parts: SignInParts): void {
  const { service, library, csrf, pages, providerHost, knownClients } = parts;
  const headers = pageHeaders(pagePolicy(), service.https);

  app.get(paths.signOut, async (request, reply) => {
    const query = new URLSearchParams(request.raw.url!.split('?')[1]);
    // The library would keep it in the session.
    if (query.getAll('state').some((state) => state.length > parameterLengthMax))
      return pages.trouble(reply, libraryTrouble('invalid_request', 400));
    const session = await library.session(request, reply);
    if (session.accountId === undefined) {
      // The library would go on by a page that needs script.
      const back = await returnAddress(library, query);
      if (back !== null && knownClients.has(query.get('client_id')!)) return reply.redirect(back, 303);
      // Nobody has clicked anything here. An app that introduced itself may have sent the rider only to be led on, so it
      // gets a link.
      const link = back === null ? null : { to: back, words: redirectWords(back) };
      return pages.page(reply, signedOutPage(providerHost, link));
    }
    await library.answer(request, reply, { url: `${paths.signOut}?${query}`, accept: 'text/html', headers });
  });

  app.post(signOutConfirm, async (request, reply) => {
    const form = await readForm(request.raw);
    if (!csrf.fromOwnPage(request.headers)) return pages.trouble(reply, 'forged');
    const session = await library.session(request, reply);
    if (session.accountId === undefined) return reply.redirect(service.origin + paths.signedOut, 303);
    // The page is an older one, since the rider has another open: the library would blame an app.
    if ((session.state as { secret?: string } | undefined)?.secret !== form.get('xsrf'))
      return reply.redirect(service.origin + paths.signOut, 303);
    await library.answer(request, reply, {
      url: signOutConfirm,
      accept: 'text/html',
      body: { text: form.toString(), type: 'application/x-www-form-urlencoded' },
      headers,
    });
  });

  app.get(paths.signedOut, async (request, reply) => {
    await library.answer(request, reply, { url: paths.signedOut, accept: 'text/html', headers });
  });
}

/** Where a client wants a rider back who is signed out already: only an address that it registered for that. */
async function returnAddress(library: Library, query: URLSearchParams): Promise<string | null> {
  const uri = query.get('post_logout_redirect_uri');
  const id = query.get('client_id');
  // Nor is a client's own document worth fetching for this.
  const client = uri === null || id === null || id.includes(':') ? undefined : await library.client(id);
  if (uri === null || !client?.postLogoutRedirectUriAllowed(uri)) return null;
  const url = new URL(uri);
  const state = query.get('state');
  if (state !== null) url.searchParams.set('state', state);
  return url.href;
}
