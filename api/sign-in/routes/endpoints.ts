import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { corsHeaders, options } from '../../messages/answer.ts';
import { isLoopback } from '../../messages/service-url.ts';
import { type ClientMetadata, knownMetadata } from '../clients/client-policy.ts';
import { clientAddress } from '../limits/client-address.ts';
import { pageHeaders, pagePolicy } from '../pages/page.ts';
import { canonicalAuthorizeQuery, canonicalForm, markAccessToken } from '../provider/provider-requests.ts';
import { paths, resourceMetadata, serverMetadata } from '../tokens/metadata.ts';
import { noStore } from './faults.ts';
import { formOf, takeJson } from './request-body.ts';
import type { SignInParts } from './sign-in-parts.ts';

const publicHeaders = { ...corsHeaders, 'Cache-Control': 'public, max-age=300' };
const formType = 'application/x-www-form-urlencoded';

/** The protocol's own endpoints: authorize, token, revocation, registration, keys and metadata. */
export function addEndpoints(app: FastifyInstance, parts: SignInParts): void {
  addMetadata(app, parts);
  addAuthorize(app, parts);
  addTokenEndpoints(app, parts);
  if (parts.registration)
    app.register(async (scope) => {
      takeJson(scope);
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

function addAuthorize(app: FastifyInstance, { service, provider, limits, pages, who }: SignInParts): void {
  const headers = pageHeaders(`${pagePolicy}; script-src`, service.https);
  app.get(paths.authorize, async (request, reply) => {
    const query = request.raw.url!.split('?').slice(1).join('?');
    // Cookies belong to a host name. A browser that uses another name of this machine is redirected to BASE_URL's.
    const { host } = request.headers;
    if (who === 'picker' && host !== service.host && isLoopback((host ?? '').replace(/:\d+$/, '')))
      return reply.redirect(`${service.origin}${paths.authorize}?${query}`, 307);
    const wait = await limits.authorize(clientAddress()!);
    if (wait !== null) return pages.trouble(reply, 'busy', wait);
    await provider.answer(request, reply, {
      url: `${paths.authorize}?${canonicalAuthorizeQuery(query, service)}`,
      headers,
    });
  });
  app.get(`${paths.authorize}/:uid`, async (request, reply) => {
    await provider.answer(request, reply, { url: request.raw.url!, headers });
  });
}

function addTokenEndpoints(app: FastifyInstance, { service, provider }: SignInParts): void {
  for (const path of [paths.token, paths.revoke]) {
    app.post(path, async (request, reply) => {
      const form = new URLSearchParams(canonicalForm(formOf(request), service));
      if (path === paths.token) await provider.fillRedirectUri(form);
      else markAccessToken(form);
      // oidc-provider would refuse another resource only once it has used up the refresh token.
      if (path === paths.token && form.has('resource')) {
        const why = `the only resource here is ${service.resource}`;
        return reply.code(400).headers(noStore).send({ error: 'invalid_target', error_description: why });
      }
      await provider.answer(request, reply, {
        url: path,
        accept: 'application/json',
        body: { text: form.toString(), type: formType },
        headers: noStore,
      });
    });
    addOptions(app, path, 'POST, OPTIONS');
  }
}

function addRegistration(app: FastifyInstance, { provider, limits }: SignInParts): void {
  app.post(paths.register, async (request, reply) => {
    const wait = await limits.registrations(clientAddress()!);
    if (wait !== null) {
      const why = `too many registrations; try again in ${wait} seconds`;
      const headers = { ...noStore, 'Retry-After': String(wait) };
      return reply.code(429).headers(headers).send({ error: 'temporarily_unavailable', error_description: why });
    }
    const metadata = knownMetadata(Object(request.body) as ClientMetadata);
    await provider.answer(request, reply, {
      url: paths.register,
      accept: 'application/json',
      body: { text: JSON.stringify(metadata), type: 'application/json' },
      headers: corsHeaders,
    });
  });
  addOptions(app, paths.register, 'POST, OPTIONS');
}
