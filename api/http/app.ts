import { METHODS, type ServerResponse } from 'node:http';
import Fastify, { type FastifyInstance } from 'fastify';
import { type CalendarDeps, calendar } from '../calendar/calendar.ts';
import type { Answer } from './answer.ts';
import { corsHeaders } from './answer.ts';
import { noSuchRouteBody, problemContentType, problems } from './errors.ts';
import { lacksHost, listenAtTheEdge, malformed, onClientError } from './http-edge.ts';
import { refusals } from './refusals.ts';

// A header block of 32 kB: a URL of 8,000 bytes, and tokens, fit well.
const headerBytesMax = 32 * 1024;
const calendarRoute = '/~calendar';
const malformedRoute = '/~malformed';

export interface AppDeps extends CalendarDeps {
  /**
   * Addresses and ranges of proxies whose X-Forwarded-For is believed: for `request.ip`, which rates are limited by, and
   * for nothing else. What else they forward is never read. Absent: nobody's is.
   */
  trustProxy?: readonly string[];
  /** Longest time for a request to arrive, its body included, and how often that is looked at. Others than the default are for tests. */
  arrival?: { timeoutMs: number; checkEveryMs: number };
  /** Called for every answer of the interface, with how long it took. */
  onAnswer?(operation: string, status: number, seconds: number): void;
}

/**
 * The HTTP application: the interface's paths below the base path, and whatever else is registered on it (docs, health,
 * sign-in). Fastify would decode paths, parse bodies and refuse methods before any of our code saw a request; the
 * interface has rules of its own for all of that, so its targets are rewritten to one plain route.
 */
export function createApp(deps: AppDeps): FastifyInstance {
  const { handle, owns } = calendar(deps);
  const refuse = refusals(deps.baseUrl);
  const { timeoutMs, checkEveryMs } = deps.arrival ?? { timeoutMs: 30_000, checkEveryMs: 5_000 };
  const app = Fastify({
    logger: false,
    http: { maxHeaderSize: headerBytesMax, requireHostHeader: false, connectionsCheckingInterval: checkEveryMs },
    requestTimeout: timeoutMs,
    trustProxy: deps.trustProxy ? [...deps.trustProxy] : false,
    routerOptions: { ignoreTrailingSlash: false },
    rewriteUrl: (request) => {
      if (lacksHost(request)) return malformedRoute;
      const target = request.url ?? '/';
      return owns(target) ? calendarRoute : target;
    },
    // A target that can't be decoded, or a parameter too long, is no path of ours.
    frameworkErrors: (_error, _request, reply) => {
      reply.hijack();
      send(reply.raw, refuse.notFound(noSuchRouteBody));
    },
    clientErrorHandler: onClientError({ owns, handle }),
    // What comes on open connections while it closes is answered, and told to close.
    return503OnClosing: false,
  });
  listenAtTheEdge(app.server, timeoutMs);
  for (const method of METHODS) if (!app.supportedMethods.includes(method)) app.addHttpMethod(method);

  // A stored value that was spoilt must not end the process, wherever it shows: node:http refuses some headers.
  const sendOr500 = (response: ServerResponse, answer: Answer): Answer => {
    try {
      send(response, answer);
      return answer;
    } catch (cause) {
      deps.onFault(cause);
      const internal = refuse.internal();
      if (response.headersSent) response.destroy();
      else send(response, internal);
      return internal;
    }
  };

  app.route({
    method: app.supportedMethods,
    url: calendarRoute,
    // Before any body is parsed: bodies are ignored (docs/rules.md#request-body).
    onRequest(request, reply) {
      const started = performance.now();
      const target = request.originalUrl;
      const { operation, answer } = handle({ method: request.method, target, headers: request.headers });
      reply.hijack();
      const finish = (done: Answer): void => {
        const { status } = sendOr500(reply.raw, done);
        deps.onAnswer?.(operation, status, (performance.now() - started) / 1000);
      };
      if (answer instanceof Promise) void answer.then(finish);
      else finish(answer);
    },
    handler: () => {},
  });

  // Before any body is parsed here too: a body that is wrong says nothing of a path that is not there.
  const answerAtOnce = (url: string, answer: () => Answer): void => {
    app.route({
      method: app.supportedMethods,
      url,
      onRequest(_request, reply) {
        reply.hijack();
        send(reply.raw, answer());
      },
      handler: () => {},
    });
  };
  answerAtOnce(malformedRoute, malformed);
  answerAtOnce('*', () => refuse.notFound(noSuchRouteBody));
  app.setNotFoundHandler((_request, reply) => {
    reply.hijack();
    send(reply.raw, refuse.notFound(noSuchRouteBody));
  });
  app.setErrorHandler((error: { statusCode?: number }, _request, reply) => {
    reply.hijack();
    if (reply.raw.headersSent) return;
    const status = error.statusCode ?? 500;
    if (status >= 500) {
      deps.onFault(error);
      send(reply.raw, refuse.internal());
    } else {
      const headers = { ...corsHeaders, 'Content-Type': problemContentType, 'Cache-Control': 'no-store' };
      send(reply.raw, { status, headers, body: problems.malformed.body });
    }
  });
  return app;
}

/** Sends an answer. A HEAD's body is left out by node:http, its length is not (docs/rules.md#head). */
export function send(response: ServerResponse, { status, headers, body }: Answer): void {
  if (body) headers['Content-Length'] = String(body.length);
  else if (status !== 204 && status !== 304) headers['Content-Length'] = '0';
  response.writeHead(status, headers);
  response.end(body ?? undefined);
}
