import type { IncomingHttpHeaders } from 'node:http';
import type { Inputs } from '../../schemas/interface/inputs.ts';
import { type Answer, corsHeaders, UnavailableError } from '../http/answer.ts';
import { splitTarget } from '../http/decoding.ts';
import { matchesEtag } from '../http/etag.ts';
import { targetBytesMax } from '../http/http-edge.ts';
import { allow, refusals, refuse } from '../http/refusals.ts';
import { type Route, routePath } from '../http/route-table.ts';
import { StoreAwayError } from '../ports/view-reader.ts';
import type { TokenChecker } from '../tokens/access-token.ts';
import { isLive, keysToDecide, liveHere, type Presented, presented } from './credentials.ts';
import { readInputs } from './inputs.ts';
import { memoize } from './memoize.ts';
import {
  answerDay,
  answerRide,
  dayKeys,
  type Keys,
  type PublicAnswer,
  type PublicReadContext,
  rideKeys,
  type Views,
} from './public-reads.ts';
import type { ViewCache } from './view-cache.ts';

export interface CalendarRequest {
  method: string;
  /** The raw request target, in origin form. */
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
  /** A rider whose token was sent is gone. */
  riderGone?(rider: string): void;
  /** Where a fault of ours is reported; never the request's content. */
  onFault(cause: unknown): void;
}

export type RiderOperation = 'getMyNights' | 'getKnown' | 'getFriends' | 'getFlagged';

/** Something with an operation name for metrics, and the answer. */
export interface Handled {
  operation: string;
  answer: Answer | Promise<Answer>;
}

/** What a raw target asks for. */
interface Asked {
  route: Route;
  query: string;
  /** Of the public operations: all that the target alone decides on. */
  read: PublicRead | null;
}

interface PublicRead {
  /** Keys of the views that the answer needs; none where an input is wrong. */
  keys: Keys;
  answer(views: Views, ifNoneMatch: string | undefined): Answer;
}

/**
 * Answers the interface's seven paths, and targets that are too long, each check in its turn
 * (docs/rules.md#order-of-checks): route, method, credentials, inputs, existence, preconditions.
 */
export function calendar(deps: CalendarDeps) {
  const { cache, checker, baseUrl } = deps;
  const basePath = new URL(baseUrl).pathname.replace(/\/$/, '');
  const { noLiveKey, noLiveToken } = refusals(baseUrl);

  /** What a raw target asks for; null where it is none of the interface's. */
  const asked = memoize((target): Asked | null => {
    const { path, query } = splitTarget(target);
    const route = routePath(basePath, path);
    return route && { route, query, read: publicRead(route, query) };
  });

  function publicRead(route: Route, query: string): PublicRead | null {
    switch (route.operation) {
      case 'getDay':
        return checked('getDay', route, query, dayKeys, answerDay);
      case 'getRide':
        return checked('getRide', route, query, rideKeys, answerRide);
      default:
        return null;
    }
  }

  function checked<O extends 'getDay' | 'getRide'>(
    operation: O,
    route: Route,
    query: string,
    keysOf: (inputs: Inputs<O>) => Keys,
    answer: PublicAnswer<O>,
  ): PublicRead {
    const read = readInputs(operation, route.segments, query);
    if (!read.ok) return { keys: [], answer: () => refuse.invalid(read.input, read.detail) };
    const { inputs } = read;
    const keys = keysOf(inputs);
    return { keys, answer: (views, ifNoneMatch) => answer(inputs, keys, views, ifNoneMatch, deps) };
  }

  /** Answers a request of the interface; null for any other. */
  function answers(request: CalendarRequest): Handled | null {
    if (request.target.length > targetBytesMax) return { operation: 'none', answer: refuse.targetTooLong() };
    const found = asked(request.target);
    if (!found) return null;
    const { operation } = found.route;
    try {
      const answer = dispatch(request, found);
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

  function dispatch({ method, headers }: CalendarRequest, found: Asked): Answer | Promise<Answer> {
    if (method === 'OPTIONS') return options(headers);
    if (method !== 'GET' && method !== 'HEAD') return refuse.methodNotAllowed();
    if (found.read) return answerPublic(found.read, headers);
    const { operation } = found.route;
    if (operation === 'getOpenApi') return openApi(headers['if-none-match']);
    return riderRead(operation as RiderOperation, found.route, found.query, headers);
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

  function answerPublic(read: PublicRead, headers: IncomingHttpHeaders): Answer | Promise<Answer> {
    const carried = presented(headers, checker);
    if (carried instanceof Promise) return carried.then(decide);
    return decide(carried);

    function decide(who: Presented): Answer | Promise<Answer> {
      if (who.key === null && who.rider === null) return noLiveKey(who.tokenSent);
      const { keys } = read;
      // Everything at hand: no tick, no round trip.
      if (keys.length > 0 && liveHere(cache, who) && cache.peek(keys[0]!)) {
        return read.answer((key) => cache.peek(key), headers['if-none-match']);
      }
      const wanted = [...keysToDecide(who), ...keys];
      return cache.load(wanted).then((entries) => {
        const views: Views = (key) => entries[wanted.indexOf(key)];
        if (!isLive(who, (key) => views(key)?.value != null)) {
          if (who.rider !== null) deps.riderGone?.(idOf(who.rider));
          return noLiveKey(who.tokenSent);
        }
        return read.answer(views, headers['if-none-match']);
      });
    }
  }

  async function riderRead(
    operation: RiderOperation,
    found: Route,
    query: string,
    headers: IncomingHttpHeaders,
  ): Promise<Answer> {
    // A developer key never opens these (docs/rules.md#me).
    const { rider, tokenSent } = await presented(
      { authorization: headers.authorization } as IncomingHttpHeaders,
      checker,
    );
    if (rider === null) return noLiveToken(tokenSent);
    return deps.answerMine(operation, found, query, idOf(rider), headers);
  }

  // docs/rules.md#options
  function options(headers: IncomingHttpHeaders): Answer {
    const preflight = headers['access-control-request-method'] !== undefined && {
      'Access-Control-Allow-Methods': 'GET, HEAD',
      'Access-Control-Allow-Headers': 'Authorization, X-Api-Key, If-None-Match',
      'Access-Control-Max-Age': '86400',
    };
    return { status: 204, headers: { ...corsHeaders, Allow: allow, ...preflight }, body: null };
  }

  return answers;
}

/** The rider id in the name of a rider's card. */
const idOf = (card: string): string => card.slice(card.indexOf(':') + 1);
