import type { IncomingHttpHeaders } from 'node:http';
import type { Inputs } from '../schemas/inputs.ts';
import type { TokenChecker } from './access-token.ts';
import { type Answer, corsHeaders, UnavailableError } from './answer.ts';
import { isLive, keysToDecide, liveHere, type Presented, presented } from './credentials.ts';
import { splitTarget } from './decoding.ts';
import { noSuchRouteBody } from './errors.ts';
import { matchesEtag } from './etag.ts';
import { readInputs } from './inputs.ts';
import { answerDay, answerRide, dayKeys, type PublicReadContext, rideKeys, type Views } from './public-reads.ts';
import { allow, refusals } from './refusals.ts';
import { type Route, routePath } from './route-table.ts';
import type { ViewCache } from './view-cache.ts';
import { StoreAwayError } from './view-reader.ts';

// URLs of up to 8,000 bytes work (DESIGN §3).
const targetBytesMax = 8_000;

export interface CalendarRequest {
  method: string;
  /** The raw request target. */
  target: string;
  headers: IncomingHttpHeaders;
}

export interface CalendarDeps extends PublicReadContext {
  /** Without a trailing slash. */
  baseUrl: string;
  cache: ViewCache;
  checker: TokenChecker;
  /** The OpenAPI document, and its ETag with quotes. */
  openApi: { body: Buffer; etag: string };
  /** A rider's own operations; a request whose token is live. */
  answerMine(
    operation: RiderOperation,
    route: Route,
    query: string,
    rider: string,
    headers: IncomingHttpHeaders,
  ): Promise<Answer>;
  /** Where a fault of ours is reported; never the request's content. */
  onFault(cause: unknown): void;
}

export type RiderOperation = 'getMyNights' | 'getKnown' | 'getFriends' | 'getFlagged';

/** Something with an operation name for metrics, and the answer. */
export interface Handled {
  operation: string;
  answer: Answer | Promise<Answer>;
}

/** Answers the interface's seven paths, in the order of checks of DESIGN §3: route, method, credentials, inputs, existence, preconditions. */
export function calendar(deps: CalendarDeps) {
  const { cache, checker, baseUrl } = deps;
  const basePath = new URL(baseUrl).pathname.replace(/\/$/, '');
  const refuse = refusals(baseUrl);

  /** The operation a raw target is for; null where it is none of the interface's. */
  function route(target: string): { route: Route; query: string } | null {
    const { path, query } = splitTarget(target);
    const found = routePath(basePath, path);
    return found && { route: found, query };
  }

  function handle(request: CalendarRequest): Handled {
    if (request.target.length > targetBytesMax) return { operation: 'none', answer: refuse.targetTooLong() };
    const found = route(request.target);
    if (!found) return { operation: 'none', answer: refuse.notFound(noSuchRouteBody) };
    const { operation } = found.route;
    try {
      const answer = dispatch(request, found.route, found.query);
      return { operation, answer: answer instanceof Promise ? answer.catch(fault) : answer };
    } catch (cause) {
      return { operation, answer: fault(cause) };
    }
  }

  function fault(cause: unknown): Answer {
    if (cause instanceof StoreAwayError || cause instanceof UnavailableError) return refuse.unavailable();
    deps.onFault(cause);
    return refuse.internal();
  }

  function dispatch({ method, headers }: CalendarRequest, found: Route, query: string): Answer | Promise<Answer> {
    if (method === 'OPTIONS') return options(headers);
    if (method !== 'GET' && method !== 'HEAD') return refuse.methodNotAllowed();
    switch (found.operation) {
      case 'getOpenApi':
        return openApi(headers['if-none-match']);
      case 'getDay':
        return publicRead('getDay', found, query, headers, dayKeys, answerDay);
      case 'getRide':
        return publicRead('getRide', found, query, headers, rideKeys, answerRide);
      default:
        return riderRead(found.operation, found, query, headers);
    }
  }

  function openApi(ifNoneMatch: string | undefined): Answer {
    const headers: Record<string, string> = {
      ...corsHeaders,
      ETag: deps.openApi.etag,
      'Cache-Control': 'public, no-cache',
    };
    if (matchesEtag(ifNoneMatch, deps.openApi.etag)) return { status: 304, headers, body: null };
    return { status: 200, headers: { ...headers, 'Content-Type': 'application/json' }, body: deps.openApi.body };
  }

  function publicRead<O extends 'getDay' | 'getRide'>(
    operation: O,
    found: Route,
    query: string,
    headers: IncomingHttpHeaders,
    keysOf: (inputs: Inputs<O>) => string[],
    answer: (inputs: Inputs<O>, views: Views, ifNoneMatch: string | undefined, context: PublicReadContext) => Answer,
  ): Answer | Promise<Answer> {
    const carried = presented(headers, checker);
    if (carried instanceof Promise) return carried.then(decide);
    return decide(carried);

    function decide(who: Presented): Answer | Promise<Answer> {
      if (who.key === null && who.rider === null) return refuse.noLiveKey(who.tokenSent);
      const read = readInputs(operation, found.segments, query);
      const keys = read.ok ? keysOf(read.inputs) : [];
      // Everything at hand: no tick, no round trip.
      if (read.ok && liveHere(cache, who) && cache.peek(keys[0]!)) {
        return answer(read.inputs, (key) => cache.peek(key), headers['if-none-match'], deps);
      }
      const wanted = [...keysToDecide(who), ...keys];
      return cache.load(wanted).then((entries) => {
        const views: Views = (key) => entries[wanted.indexOf(key)];
        if (!isLive(who, (key) => views(key)?.value != null)) return refuse.noLiveKey(who.tokenSent);
        if (!read.ok) return refuse.invalid(read.input, read.detail);
        return answer(read.inputs, views, headers['if-none-match'], deps);
      });
    }
  }

  async function riderRead(
    operation: RiderOperation,
    found: Route,
    query: string,
    headers: IncomingHttpHeaders,
  ): Promise<Answer> {
    // A developer key never opens these.
    const { rider, tokenSent } = await presented(
      { authorization: headers.authorization } as IncomingHttpHeaders,
      checker,
    );
    if (rider === null) return refuse.noLiveToken(tokenSent);
    return deps.answerMine(operation, found, query, rider.slice(rider.indexOf(':') + 1), headers);
  }

  function options(headers: IncomingHttpHeaders): Answer {
    const preflight = headers['access-control-request-method'] !== undefined && {
      'Access-Control-Allow-Methods': 'GET, HEAD',
      'Access-Control-Allow-Headers': 'Authorization, X-Api-Key, If-None-Match',
      'Access-Control-Max-Age': '86400',
    };
    return { status: 204, headers: { ...corsHeaders, Allow: allow, ...preflight }, body: null };
  }

  return { route, handle };
}
