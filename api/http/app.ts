import { type IncomingMessage, METHODS, type ServerResponse } from 'node:http';
import Fastify, { type FastifyInstance } from 'fastify';
import { type CalendarDeps, calendar } from '../calendar/calendar.ts';
import { type Answer, send } from './answer.ts';
import { noSuchRouteBody } from './errors.ts';
import { type Arrival, edgeServer } from './http-edge.ts';
import { refuse } from './refusals.ts';
import { parameterLengthMax, RegisteredPaths } from './registered-paths.ts';

export interface HttpAppOptions {
  /**
   * Addresses and ranges of proxies whose X-Forwarded-For is believed: for `request.ip`, which rates are limited by, and
   * for nothing else. What else they forward is never read. Absent: nobody's is.
   */
  trustProxy?: readonly string[];
  /** Others than the default are for tests. */
  arrival?: Arrival;
  /** Where a fault of ours is reported; never the request's content. */
  onFault(cause: unknown): void;
  /** Answers a request before Fastify sees it: true where it did, or will. `last`: the connection is to be closed. */
  first?(request: IncomingMessage, response: ServerResponse, last: boolean): boolean;
}

const known = new Set(METHODS);

/** Paths that are registered on it, at the edge that all of the service's answers have (http-edge.ts). */
export function httpApp({ trustProxy, arrival, onFault, first }: HttpAppOptions): FastifyInstance {
  let closing = false;
  const paths = new RegisteredPaths();
  const otherwise = (target: string): Answer => {
    const methods = paths.methodsAt(target);
    return methods.length > 0 ? refuse.otherMethod(methods) : refuse.notFound(noSuchRouteBody);
  };
  const app = Fastify({
    logger: false,
    serverFactory: (handler) =>
      edgeServer((request, response) => {
        if (first?.(request, response, closing)) return;
        // Fastify has routes for the methods that it knows only.
        if (known.has(request.method!)) handler(request, response);
        else send(response, otherwise(request.url!));
      }, arrival ?? { timeoutMs: 30_000, checkEveryMs: 5_000 }),
    clientErrorHandler: () => {},
    trustProxy: trustProxy ? [...trustProxy] : false,
    routerOptions: { ignoreTrailingSlash: false, maxParamLength: parameterLengthMax },
    // A target that can't be decoded, or a parameter too long, is no path of ours.
    frameworkErrors: (_error, _request, reply) => {
      reply.hijack();
      send(reply.raw, refuse.notFound(noSuchRouteBody));
    },
    // What comes on open connections while it closes is answered, and told to close.
    return503OnClosing: false,
  });
  for (const method of METHODS) if (!app.supportedMethods.includes(method)) app.addHttpMethod(method);
  app.addHook('onRoute', ({ url, method }) => {
    if (url !== everyPath) paths.add(url, method);
  });
  app.addHook('preClose', async () => {
    closing = true;
  });
  // Before any body is parsed: a body that is wrong says nothing of a path that is not there.
  app.route({
    method: app.supportedMethods,
    url: everyPath,
    onRequest(request, reply) {
      reply.hijack();
      send(reply.raw, otherwise(request.raw.url!));
    },
    handler: () => {},
  });
  app.setNotFoundHandler((request, reply) => {
    reply.hijack();
    send(reply.raw, otherwise(request.raw.url!));
  });
  app.setErrorHandler((error: { statusCode?: number }, _request, reply) => {
    reply.hijack();
    if (reply.raw.headersSent) return;
    if ((error.statusCode ?? 500) < 500) return send(reply.raw, { ...refuse.malformed(), status: error.statusCode! });
    onFault(error);
    send(reply.raw, refuse.internal());
  });
  return app;
}

const everyPath = '*';

export interface AppDeps extends CalendarDeps, Omit<HttpAppOptions, 'first'> {
  /** Called for every answer of the interface, with how long it took. */
  onAnswer?(operation: string, status: number, seconds: number): void;
}

/**
 * The HTTP application: the interface's paths below the base path, and whatever else is registered on it (docs, health,
 * sign-in). Fastify would decode paths, parse bodies and refuse methods before any of our code saw a request; the
 * interface has rules of its own for all of that, so its requests are answered before they get there.
 */
export function createApp(deps: AppDeps): FastifyInstance {
  const answers = calendar(deps);

  // A stored value that was spoilt must not end the process, wherever it shows: node:http refuses some headers.
  const sendOr500 = (response: ServerResponse, answer: Answer): number => {
    try {
      send(response, answer);
      return answer.status;
    } catch (cause) {
      deps.onFault(cause);
      if (response.headersSent) response.destroy();
      else send(response, refuse.internal());
      return 500;
    }
  };

  return httpApp({
    ...deps,
    first(request, response, last) {
      const started = performance.now();
      const handled = answers({ method: request.method!, target: request.url!, headers: request.headers });
      if (!handled) return false;
      const { operation, answer } = handled;
      const finish = (done: Answer): void => {
        if (last) done.headers.Connection = 'close';
        const status = sendOr500(response, done);
        deps.onAnswer?.(operation, status, (performance.now() - started) / 1000);
      };
      if (answer instanceof Promise) void answer.then(finish);
      else finish(answer);
      return true;
    },
  });
}
