import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { InteractionResults } from 'oidc-provider';
import { corsHeaders, options } from '../../messages/answer.ts';
import { isLoopback } from '../../messages/service-url.ts';
import { pageHeaders, pagePolicy } from '../pages/page.ts';
import { canonicalAuthorizeQuery, canonicalTokenRequest, registrationRequest } from '../provider/provider-requests.ts';
import { paths, resourceMetadata, serverMetadata } from '../tokens/metadata.ts';
import { noStore } from './faults.ts';
import { formOf, takeBodies } from './request-body.ts';
import type { SignInParts } from './sign-in-parts.ts';
import { tokenLimit } from './token-limit.ts';

const publicHeaders = { ...corsHeaders, 'Cache-Control': 'public, max-age=300' };
const formType = 'application/x-www-form-urlencoded';

/** For an address that continues a sign-in and works once: no HEAD, which programs send to preview a link. */
export const usedOnce = { exposeHeadRoute: false };

/** The protocol's own endpoints: authorize, token, revocation, registration, keys and metadata. */
export function addEndpoints(app: FastifyInstance, parts: SignInParts): void {
  addMetadata(app, parts);
  addAuthorize(app, parts);
  addTokenEndpoints(app, parts);
  if (parts.registration)
    app.register(async (scope) => {
      takeBodies(scope, 'application/json');
      addRegistration(scope, parts);
    });
}

/** Answers OPTIONS on a path. `allow` lists its methods, e.g. `POST, OPTIONS`. */
function addOptions(app: FastifyInstance, path: string, allow: string): void {
  const answer = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const { status, headers } = options(request.headers, allow);
    return reply.code(status).headers(headers).send();
  };
  // At once: a body, or a Content-Type without one, would be refused where it is not what the path takes.
  app.options(path, { onRequest: answer }, answer);
}

/** docs/rules.md#metadata */
function addMetadata(app: FastifyInstance, { service, registration, metadataFetch, provider }: SignInParts): void {
  const offers = { registration, clientMetadata: metadataFetch !== null };
  const documents: [string, object][] = [
    [paths.serverMetadata, serverMetadata(service, offers)],
    [paths.resourceMetadata + service.basePath, resourceMetadata(service)],
  ];
  for (const [path, document] of documents) {
    const body = JSON.stringify(document);
    app.get(path, async (_request, reply) =>
      reply.headers({ ...publicHeaders, 'Content-Type': 'application/json' }).send(Buffer.from(body)),
    );
    addOptions(app, path, 'GET, HEAD, OPTIONS');
  }
  app.get(paths.jwks, async (request, reply) => {
    await provider.answer(request, reply, { url: paths.jwks, accept: 'application/json', headers: publicHeaders });
  });
  addOptions(app, paths.jwks, 'GET, HEAD, OPTIONS');
}

function addAuthorize(app: FastifyInstance, { service, provider, riders, limits, pages, who }: SignInParts): void {
  const headers = pageHeaders(`${pagePolicy()}; script-src`, service.https);
  app.get(paths.authorize, async (request, reply) => {
    const query = request.raw.url!.split('?').slice(1).join('?');
    // Cookies belong to a host name. A browser that uses another name of this machine is redirected to BASE_URL's.
    const host = request.headers.host ?? '';
    if (who === 'picker' && host !== service.host && isLoopback(host.replace(/:\d+$/, '')))
      return reply.redirect(`${service.origin}${paths.authorize}?${query}`, 307);
    const wait = await limits.authorize.hit(request.ip);
    if (wait !== null) return pages.trouble(reply, 'busy', wait);
    await provider.answer(request, reply, {
      url: `${paths.authorize}?${canonicalAuthorizeQuery(query, service)}`,
      headers,
    });
  });
  app.get<{ Params: { uid: string } }>(`${paths.authorize}/:uid`, usedOnce, async (request, reply) => {
    const { uid } = request.params;
    // oidc-provider ends the interaction before it asks whether the rider exists. If the views are away, the rider
    // would be back at the app with an error. This throws before the end, so the page can be loaded again.
    const interaction = await provider.interactionOf(uid);
    const { login, error } = (interaction?.result ?? {}) as InteractionResults;
    const rider = login?.accountId ?? interaction?.session?.accountId;
    if (rider !== undefined && error === undefined) await riders.card(rider);
    await provider.answer(request, reply, { url: `${paths.authorize}/${encodeURIComponent(uid)}`, headers });
  });
}

function addTokenEndpoints(app: FastifyInstance, { service, provider, limits }: SignInParts): void {
  const limit = tokenLimit(limits, provider);
  for (const path of [paths.token, paths.revoke]) {
    app.post(path, async (request, reply) => {
      const form = formOf(request);
      const wait = await limit.wait(request, form);
      if (wait !== null) return tooMany(reply, wait, 'too many refused requests of this client from this address');
      const canonical = path === paths.token ? canonicalTokenRequest(form, service) : { form: form.toString() };
      if ('refuse' in canonical) return reply.code(400).headers(noStore).send(canonical.refuse);
      await provider.answer(request, reply, {
        url: path,
        accept: 'application/json',
        body: { text: canonical.form, type: formType },
        headers: noStore,
      });
      if (reply.raw.statusCode === 400 || reply.raw.statusCode === 401) await limit.refused(request, form);
    });
    addOptions(app, path, 'POST, OPTIONS');
  }
}

function addRegistration(app: FastifyInstance, { provider, limits }: SignInParts): void {
  app.post(paths.register, async (request, reply) => {
    const wait = await limits.registrations.hit(request.ip);
    if (wait !== null) return tooMany(reply, wait, 'too many registrations from this address');
    const wanted = registrationRequest(String(request.body));
    if ('refuse' in wanted) return reply.code(400).headers(noStore).send(wanted.refuse);
    await provider.answer(request, reply, {
      url: paths.register,
      accept: 'application/json',
      body: { text: JSON.stringify(wanted.metadata), type: 'application/json' },
      headers: corsHeaders,
    });
  });
  addOptions(app, paths.register, 'POST, OPTIONS');
}

function tooMany(reply: FastifyReply, seconds: number, why: string): FastifyReply {
  return reply
    .code(429)
    .headers({ ...noStore, 'Retry-After': String(seconds) })
    .send({ error: 'temporarily_unavailable', error_description: `${why}; try again in ${seconds} seconds` });
}
