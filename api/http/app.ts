import { type IncomingMessage, METHODS, type ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import Fastify, { type FastifyInstance } from 'fastify';
import { type CalendarDeps, calendar } from '../calendar/calendar.ts';
import { type Answer, options as optionsAnswer, send } from '../messages/answer.ts';
import { allow, problems, refuse } from '../messages/refusals.ts';
import { type ServiceUrl, serviceUrl } from '../messages/service-url.ts';
import { decodeText, splitTarget } from '../messages/target.ts';
import { type Arrival, edgeServer } from './http-edge.ts';
import { notFound } from './not-found.ts';

interface HttpAppOptions {
  /**
   * Addresses and ranges of proxies whose X-Forwarded-For is trusted. It is used for `request.ip`, by which rate limits
   * count, and for nothing else. Other forwarding headers are never read. Without this, no X-Forwarded-For is trusted.
   */
  trustProxy?: readonly string[];
  /** The address of the interface. Without it there is none here, and no page links to its reference. */
  service?: ServiceUrl;
  /** Tests pass shorter limits. */
  arrival?: Arrival;
  /** Called with an unexpected fault, for the log. Never holds the request's content. */
  onFault(cause: unknown): void;
  /** May answer a request before Fastify sees it. Returns true if it has answered or will. */
  first?(request: IncomingMessage, response: ServerResponse): boolean;
  /** Once it aborts, each answer is the last of its connection, so that none is idle when the server ends. */
  draining?: AbortSignal;
}

/** A Fastify application for registered paths, on the server whose edge all answers share (http-edge.ts). */
export function httpApp(options: HttpAppOptions): FastifyInstance {
  const { trustProxy, service = null, arrival, onFault, first, draining } = options;
  let closing = false;
  const paths: RegisteredPaths = [];
  const app = Fastify({
    logger: false,
    serverFactory: (handler) =>
      edgeServer((request, response) => {
        if (closing || draining?.aborted) response.setHeader('Connection', 'close');
        // About the server, not about a path (docs/rules.md#options).
        if (request.url === '*') send(response, optionsAnswer(request.headers, allow));
        else if (!first?.(request, response)) handler(request, response);
      }, arrival ?? { timeoutMs: 30_000, checkEveryMs: 5_000 }),
    clientErrorHandler: () => {},
    trustProxy: trustProxy ? [...trustProxy] : false,
    routerOptions: { ignoreTrailingSlash: false, maxParamLength: parameterLengthMax },
    // A target that cannot be decoded, or whose parameter is too long, is a path that does not exist.
    frameworkErrors: (_error, request, reply) => {
      reply.hijack();
      send(reply.raw, notFound(request.raw, service));
    },
    // While the server closes, requests on open connections are answered, with `Connection: close`.
    return503OnClosing: false,
  });
  for (const method of METHODS) if (!app.supportedMethods.includes(method)) app.addHttpMethod(method);
  app.addHook('onRoute', ({ url, method }) => {
    if (url !== everyPath) paths.push({ segments: url.split('/'), methods: method });
  });
  app.addHook('preClose', async () => {
    closing = true;
  });
  // The edge has ended a request that has no body. Its parser would wait for that end.
  app.addHook('preParsing', (_, __, body, done) => done(null, body.readableEnded ? Readable.from([]) : body));
  // This runs before any body is parsed: a path that does not exist is a 404 even with a wrong body.
  app.route({
    method: app.supportedMethods,
    url: everyPath,
    onRequest(request, reply) {
      reply.hijack();
      const methods = methodsAt(request.raw.url!, paths);
      if (methods.length > 0) send(reply.raw, refuse.otherMethod(methods));
      else send(reply.raw, notFound(request.raw, service));
    },
    handler: () => {},
  });
  app.setErrorHandler((error, _request, reply) => {
    reply.hijack();
    if (reply.raw.headersSent) return;
    onFault(error);
    send(reply.raw, refuse.failure(problems.internal));
  });
  return app;
}

const everyPath = '*';

// Fastify's router has the same limit.
const parameterLengthMax = 100;

/** The paths beside the interface, each with a method that it takes. `:uid` in a path is a parameter, a whole segment. */
type RegisteredPaths = { segments: string[]; methods: string | string[] }[];

/** The methods that a target's path takes. For any other: 405, or 404 if there are none (docs/rules.md#other-paths). */
function methodsAt(target: string, paths: RegisteredPaths): string[] {
  const path = decodeText(splitTarget(target).path)?.split('/') ?? [];
  const fits = (segment: string, i: number): boolean =>
    segment === path[i] || (segment.startsWith(':') && path[i]!.length <= parameterLengthMax);
  const found = paths.filter(({ segments }) => segments.length === path.length && segments.every(fits));
  return [...new Set(found.flatMap(({ methods }) => methods))];
}

export interface AppDeps extends CalendarDeps, Omit<HttpAppOptions, 'first' | 'service'> {
  /** Called for every answer of the interface and of sign-in, with the seconds it took. */
  onAnswer?(operation: string, status: number, seconds: number): void;
}

/**
 * The HTTP application: the interface's paths below the base path, and whatever else is registered on it (docs, health,
 * sign-in).
 *
 * Fastify decodes paths, parses bodies and refuses methods before our code sees a request. The interface has its own
 * rules for all three (docs/rules.md#requests, #request-body), so its requests are answered before Fastify's routing.
 */
export function createApp(deps: AppDeps): FastifyInstance {
  const answers = calendar(deps);

  // A corrupted stored value must not end the process. node:http throws on some header values.
  const sendOr500 = (response: ServerResponse, answer: Answer): number => {
    try {
      send(response, answer);
      return answer.status;
    } catch (cause) {
      deps.onFault(cause);
      // Else node:http keeps the reason phrase of the answer that failed.
      response.statusMessage = '';
      if (response.headersSent) response.destroy();
      else send(response, refuse.failure(problems.internal));
      return 500;
    }
  };

  const app = httpApp({
    ...deps,
    service: serviceUrl(deps.baseUrl),
    first(request, response) {
      const started = performance.now();
      const handled = answers(request);
      if (!handled) return false;
      const { operation, answer } = handled;
      const finish = (done: Answer): void => {
        const status = sendOr500(response, done);
        deps.onAnswer?.(operation, status, (performance.now() - started) / 1000);
      };
      if (answer instanceof Promise) void answer.then(finish);
      else finish(answer);
      return true;
    },
  });
  // Sign-in's answers are counted by their route's pattern, because the path itself may hold an id.
  app.addHook('onResponse', async (request, reply) => {
    const { url = '' } = request.routeOptions;
    if (/^\/(oauth|\.well-known)\//.test(url)) deps.onAnswer?.(url, reply.raw.statusCode, reply.elapsedTime / 1000);
  });
  return app;
}
