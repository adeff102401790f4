import type { IncomingHttpHeaders } from 'node:http';
import { type Answer, corsHeaders, success, UnavailableError } from '../http/answer.ts';
import { targetBytesMax } from '../http/http-edge.ts';
import { allow, refuse, unauthorized } from '../http/refusals.ts';
import { type Route, routePath, splitTarget } from '../http/target.ts';
import { StoreAwayError } from '../ports/view-reader.ts';
import { readInputs } from './inputs.ts';
import { type MeReadDeps, meReads } from './me-reads.ts';
import { memoize } from './memoize.ts';
import { type PublicReadDeps, publicReads, type Reading } from './public-reads.ts';

export interface CalendarRequest {
  method: string;
  /** The raw request target, in origin form. */
  target: string;
  headers: IncomingHttpHeaders;
}

export interface CalendarDeps extends PublicReadDeps, MeReadDeps {
  /** Without a trailing slash. */
  baseUrl: string;
  /** The OpenAPI document, and its ETag with quotes. */
  openApi: { body: Buffer; etag: string };
  /** Called with an unexpected fault, for the log. Never holds the request's content. */
  onFault(cause: unknown): void;
}

/** An answer, with its operation's name for metrics. */
export interface Handled {
  operation: string;
  answer: Answer | Promise<Answer>;
}

/**
 * Answers the interface's seven paths, and targets that are too long. The order of checks is
 * docs/rules.md#order-of-checks: route, method, credentials, inputs, existence, preconditions. Returns null for other
 * targets.
 */
export function calendar(deps: CalendarDeps): (request: CalendarRequest) => Handled | null {
  const basePath = new URL(deps.baseUrl).pathname.replace(/\/$/, '');
  const refusals = unauthorized(deps.baseUrl);
  const publicLayer = publicReads(deps, refusals);
  const riderLayer = meReads(deps, refusals);

  /** What a raw target asks for, worked out from the target alone. Null if it is not one of the interface's. */
  const asked = memoize((target): { operation: string; reading: Reading } | null => {
    const { path, query } = splitTarget(target);
    const route = routePath(basePath, path);
    return route && { operation: route.operation, reading: readingOf(route, query) };
  });

  function readingOf({ operation, segments }: Route, query: string): Reading {
    switch (operation) {
      case 'getOpenApi':
        return openApi;
      case 'getDay':
        return publicLayer.day(readInputs(operation, segments, query));
      case 'getRide':
        return publicLayer.ride(readInputs(operation, segments, query));
      default:
        return riderLayer(operation, readInputs(operation, segments, query));
    }
  }

  const openApi: Reading = (headers) =>
    success(
      deps.openApi.etag,
      headers['if-none-match'],
      { 'Cache-Control': 'public, no-cache' },
      () => deps.openApi.body,
    );

  const fault = (cause: unknown): Answer => {
    if (cause instanceof StoreAwayError || cause instanceof UnavailableError) return refuse.unavailable();
    deps.onFault(cause);
    return refuse.internal();
  };

  return ({ method, target, headers }) => {
    if (target.length > targetBytesMax) return { operation: 'none', answer: refuse.targetTooLong() };
    const found = asked(target);
    if (!found) return null;
    const { operation, reading } = found;
    if (method === 'OPTIONS') return { operation, answer: options(headers) };
    if (method !== 'GET' && method !== 'HEAD') return { operation, answer: refuse.methodNotAllowed() };
    try {
      const answer = reading(headers);
      return { operation, answer: answer instanceof Promise ? answer.catch(fault) : answer };
    } catch (cause) {
      return { operation, answer: fault(cause) };
    }
  };
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
