import type { IncomingMessage } from 'node:http';
import { digestOf } from '../../schemas/views/view-values.ts';
import { type Answer, options, success } from '../messages/answer.ts';
import { EncodedBody } from '../messages/encoded-body.ts';
import { memoize } from '../messages/memoize.ts';
import { allow, problems, refuse, unauthorized } from '../messages/refusals.ts';
import { serviceUrl } from '../messages/service-url.ts';
import { type Route, routePath, splitTarget, targetBytesMax } from '../messages/target.ts';
import { StoreAwayError } from '../ports/view-reader.ts';
import { meReads } from './me-reads.ts';
import { publicReads, type ReadDeps, type Reading } from './public-reads.ts';
import { readInputs } from './read-inputs.ts';

/** What is answered. `url`: the raw request target, in origin form. */
type CalendarRequest = Pick<IncomingMessage, 'method' | 'url' | 'headers'>;

export interface CalendarDeps extends ReadDeps {
  /** Without a trailing slash. */
  baseUrl: string;
  openApi: Buffer;
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
  const service = serviceUrl(deps.baseUrl);
  const refusals = unauthorized(service);
  const publicLayer = publicReads(deps, refusals);
  const riderLayer = meReads(deps, refusals);

  /** The operation and reading of a raw target. Null if it is not one of the interface's. */
  const asked = memoize((target): { operation: string; reading: Reading } | null => {
    const { path, query } = splitTarget(target);
    const route = routePath(service.basePath, path);
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

  const openApiTag = digestOf(deps.openApi);
  const openApiBody = new EncodedBody(deps.openApi, { lasting: true });
  const openApiCaching = { 'Cache-Control': 'public, no-cache', Vary: 'Accept-Encoding' };
  const openApi: Reading = (headers) => success(openApiTag, headers, openApiCaching, () => openApiBody);

  const fault = (cause: unknown): Answer => {
    if (cause instanceof StoreAwayError) return refuse.failure(problems.unavailable);
    deps.onFault(cause);
    return refuse.failure(problems.internal);
  };

  return ({ method, url, headers }) => {
    const target = url!;
    if (target.length > targetBytesMax) return { operation: 'none', answer: refuse.failure(problems.targetTooLong) };
    const found = asked(target);
    if (!found) return null;
    const { operation, reading } = found;
    if (method === 'OPTIONS') return { operation, answer: options(headers, allow) };
    if (method !== 'GET' && method !== 'HEAD') return { operation, answer: refuse.failure(problems.methodNotAllowed) };
    try {
      const answer = reading(headers);
      return { operation, answer: answer instanceof Promise ? answer.catch(fault) : answer };
    } catch (cause) {
      return { operation, answer: fault(cause) };
    }
  };
}
