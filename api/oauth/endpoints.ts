import type { FastifyInstance, FastifyReply } from 'fastify';
import type { InteractionResults } from 'oidc-provider';
import { pageHeaders, pagePolicy } from '../sign-in/page.ts';
import type { PageSender } from '../sign-in/page-sender.ts';
import type { RiderDirectory } from '../tokens/rider-directory.ts';
import { canonicalAuthorizeQuery } from './authorize-request.ts';
import { addOptions, openCors } from './cors.ts';
import type { Library } from './library.ts';
import { type Offers, paths, resourceMetadata, serverMetadata } from './metadata.ts';
import type { RateLimits } from './rate-limit.ts';
import { registrationRequest } from './registration-request.ts';
import { BodyError, readBody, readForm } from './request-body.ts';
import { isLoopback, type ServiceUrl } from './service-url.ts';
import type { StateStore } from './state-store.ts';
import { tokenLimit } from './token-limit.ts';
import { canonicalTokenRequest } from './token-request.ts';

export interface EndpointOptions {
  service: ServiceUrl;
  offers: Offers;
  riders: RiderDirectory;
  library: Library;
  limits: RateLimits;
  store: StateStore;
  pages: PageSender;
  /** Riders pick who they are. Browsers must then use BASE_URL's own host. */
  picker: boolean;
}

const noStore = { ...openCors, 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' };
const formType = 'application/x-www-form-urlencoded';

/** The protocol's own endpoints: authorize, token, revocation, registration, keys and metadata. */
export function addEndpoints(app: FastifyInstance, options: EndpointOptions): void {
  addMetadata(app, options);
  addAuthorize(app, options);
  addTokenEndpoints(app, options);
  if (options.offers.registration) addRegistration(app, options);
}

function addMetadata(app: FastifyInstance, { service, offers, library }: EndpointOptions): void {
  const documents: [string, object][] = [
    [paths.serverMetadata, serverMetadata(service, offers)],
    [paths.resourceMetadata + service.basePath, resourceMetadata(service)],
  ];
  for (const [path, document] of documents) {
    const body = JSON.stringify(document);
    app.get(path, async (_request, reply) =>
      reply
        .headers({ ...openCors, 'Cache-Control': 'public, max-age=300', 'Content-Type': 'application/json' })
        .send(Buffer.from(body)),
    );
    addOptions(app, path, 'GET, HEAD, OPTIONS');
  }
  app.get(paths.jwks, async (request, reply) => {
    await library.answer(request, reply, {
      url: paths.jwks,
      accept: 'application/json',
      headers: { ...openCors, 'Cache-Control': 'public, max-age=300' },
    });
  });
  addOptions(app, paths.jwks, 'GET, HEAD, OPTIONS');
}

function addAuthorize(app: FastifyInstance, options: EndpointOptions): void {
  const { service, library, riders, limits, pages, picker } = options;
  const headers = pageHeaders(`${pagePolicy()}; script-src`, service.https);
  app.get(paths.authorize, { exposeHeadRoute: false }, async (request, reply) => {
    const query = request.raw.url!.split('?').slice(1).join('?');
    // Cookies belong to a host name. A browser that uses another name of this machine is redirected to BASE_URL's.
    const host = request.headers.host ?? '';
    if (picker && host !== service.host && isLoopback(host.replace(/:\d+$/, '')))
      return reply.redirect(`${service.origin}${paths.authorize}?${query}`, 307);
    const wait = await limits.authorize.hit(request.ip);
    if (wait !== null) return pages.trouble(reply, 'busy', wait);
    await library.answer(request, reply, {
      url: `${paths.authorize}?${canonicalAuthorizeQuery(query, service)}`,
      headers,
    });
  });
  app.get<{ Params: { uid: string } }>(
    `${paths.authorize}/:uid`,
    { exposeHeadRoute: false },
    async (request, reply) => {
      const { uid } = request.params;
      // The library ends the sign-in before it asks whether the rider exists. If that cannot be told, it would send the
      // rider back to the app. This throws instead, and the page can be loaded again.
      const interaction = await library.interactionOf(uid);
      const { login, error } = (interaction?.result ?? {}) as InteractionResults;
      const rider = login?.accountId ?? interaction?.session?.accountId;
      if (rider !== undefined && error === undefined) await riders.exists(rider);
      await library.answer(request, reply, { url: `${paths.authorize}/${encodeURIComponent(uid)}`, headers });
    },
  );
}

function addTokenEndpoints(app: FastifyInstance, { service, library, limits, store }: EndpointOptions): void {
  const limit = tokenLimit(limits, store);
  for (const path of [paths.token, paths.revoke]) {
    app.post(path, async (request, reply) => {
      let form: URLSearchParams;
      try {
        form = await readForm(request.raw);
      } catch (error) {
        return refuseBody(reply, error);
      }
      const wait = await limit.wait(request, form);
      if (wait !== null) return tooMany(reply, wait, 'too many refused requests of this client from this address');
      const canonical = path === paths.token ? canonicalTokenRequest(form, service) : { form: form.toString() };
      if ('refuse' in canonical) return reply.code(400).headers(noStore).send(canonical.refuse);
      await library.answer(request, reply, {
        url: path,
        accept: 'application/json',
        body: { text: canonical.form, type: formType },
        headers: openCors,
      });
      if (reply.raw.statusCode === 400 || reply.raw.statusCode === 401) await limit.refused(request, form);
    });
    addOptions(app, path, 'POST, OPTIONS');
  }
}

function addRegistration(app: FastifyInstance, { library, limits }: EndpointOptions): void {
  app.post(paths.register, async (request, reply) => {
    const wait = await limits.registrations.hit(request.ip);
    if (wait !== null) return tooMany(reply, wait, 'too many registrations from this address');
    let text: string;
    try {
      text = await readBody(request.raw, 'application/json');
    } catch (error) {
      return refuseBody(reply, error);
    }
    const wanted = registrationRequest(text);
    if ('refuse' in wanted) return reply.code(400).headers(noStore).send(wanted.refuse);
    await library.answer(request, reply, {
      url: paths.register,
      accept: 'application/json',
      body: { text: JSON.stringify(wanted.metadata), type: 'application/json' },
      headers: openCors,
    });
  });
  addOptions(app, paths.register, 'POST, OPTIONS');
}

function refuseBody(reply: FastifyReply, error: unknown): FastifyReply {
  if (!(error instanceof BodyError)) throw error;
  // An unread body would be parsed as the next request.
  reply.header('Connection', 'close');
  return reply.code(error.status).headers(noStore).send({ error: 'invalid_request', error_description: error.message });
}

/** Whether errors at a path are for programs, as JSON. */
export function isForPrograms(path: string): boolean {
  return path === paths.token || path === paths.revoke || path === paths.register || path === paths.jwks;
}

/** Answers what Fastify refuses before a route runs, such as a malformed content type. The body is left unread. */
export function refuseRequest(reply: FastifyReply, status: number): FastifyReply {
  return reply
    .code(status)
    .headers({ ...noStore, Connection: 'close' })
    .send({ error: 'invalid_request', error_description: 'the request can’t be read' });
}

/** Sends a fault as RFC 6749 has it, for programs. */
export function sendFault(reply: FastifyReply, away: boolean): FastifyReply {
  return reply
    .code(away ? 503 : 500)
    .headers({ ...noStore, ...(away && { 'Retry-After': '5' }) })
    .send({ error: away ? 'temporarily_unavailable' : 'server_error' });
}

function tooMany(reply: FastifyReply, seconds: number, why: string): FastifyReply {
  return reply
    .code(429)
    .headers({ ...noStore, 'Retry-After': String(seconds) })
    .send({ error: 'temporarily_unavailable', error_description: `${why}; try again in ${seconds} seconds` });
}
