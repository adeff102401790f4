import { STATUS_CODES } from 'node:http';
import type { ErrorAnswer, Problem as ProblemDetails } from '../../schemas/interface/answers.ts';
import { type Answer, corsHeaders } from './answer.ts';
import { resourceMetadataUrl, type ServiceUrl } from './service-url.ts';

/** Answers other than a success, and their bodies (docs/rules.md#errors, #problems). */

export const errorContentType = 'application/json';
export const problemContentType = 'application/problem+json';

/** Body of a 400, 401 or 404 of the interface. */
function errorBody(error: ErrorAnswer['error'], input: string | null, detail: string | null): Buffer {
  const answer: ErrorAnswer = { error, input, detail };
  return Buffer.from(JSON.stringify(answer));
}

export const invalidRequest = (input: string, detail: string): Buffer => errorBody('invalid_request', input, detail);

/** The same for a missing, an unknown and a deleted key, also if a token was sent. */
export const invalidKeyBody = errorBody(
  'invalid_key',
  null,
  'no live developer key in X-Api-Key, and no live sign-in token',
);
export const noSuchRouteBody = errorBody('not_found', null, 'no such path');
export const noSuchMetroBody = errorBody('not_found', 'metro', 'no such metro');
export const noSuchRideBody = errorBody('not_found', 'ride', 'no such posted ride');

type Headers = Record<string, string>;

/** Any other failure (RFC 9457). Without `type`, so the title is the status code's own phrase. */
function problem(status: number, detail: string, headers: Headers = {}) {
  const details: ProblemDetails = { title: STATUS_CODES[status] ?? 'Error', status, detail };
  const body: Buffer = Buffer.from(JSON.stringify(details));
  return { status, body, headers };
}

export type Problem = ReturnType<typeof problem>;

export const allow = 'GET, HEAD, OPTIONS';
/** What follows cannot be parsed either. */
const closing = { Connection: 'close' };

export const problems = {
  /** Malformed HTTP, which the parser refuses before there is a route. */
  malformed: problem(400, 'The request is not well-formed HTTP.', closing),
  methodNotAllowed: problem(405, 'This is read with GET or HEAD.', { Allow: allow }),
  requestTimeout: problem(408, 'The request did not arrive in time.'),
  targetTooLong: problem(414, 'URLs of up to 8,000 bytes are read.'),
  headersTooLarge: problem(431, 'The header fields are too large.'),
  internal: problem(500, 'Something went wrong here; the request may be sent again.'),
  unavailable: problem(503, 'The calendar cannot be read just now; try again shortly.', { 'Retry-After': '1' }),
} as const;

const alternatives = new Intl.ListFormat('en', { type: 'disjunction' });

// Each call makes a new answer, because `send` adds headers.
const answer = ({ status, body, headers }: Problem, type: string): Answer => ({
  status,
  headers: { ...corsHeaders, 'Content-Type': type, 'Cache-Control': 'no-store', ...headers },
  body,
});
const error = (status: number, body: Buffer, headers: Headers = {}): Answer =>
  answer({ status, body, headers }, errorContentType);
const failure = (what: Problem): Answer => answer(what, problemContentType);

export const refuse = {
  invalid: (input: string, detail: string): Answer => error(400, invalidRequest(input, detail)),
  notFound: (body: Buffer): Answer => error(404, body),
  failure,
  /** 405 for a path beside the interface that takes only these methods (docs/rules.md#other-paths). */
  otherMethod: (methods: readonly string[]): Answer =>
    failure(problem(405, `This takes ${alternatives.format(methods)}.`, { Allow: methods.join(', ') })),
};

/**
 * The WWW-Authenticate header of every 401 (docs/rules.md#www-authenticate; RFC 9728 §5.1, RFC 6750 §3). `error` is
 * present only if a token was sent: a request without one did nothing wrong.
 */
export function wwwAuthenticate(service: ServiceUrl, tokenSent: boolean): string {
  const challenge = `Bearer resource_metadata="${resourceMetadataUrl(service)}", scope="read"`;
  return tokenSent ? `${challenge}, error="invalid_token"` : challenge;
}

/** Refusals of credentials. They name the resource metadata of the service. */
export type Unauthorized = ReturnType<typeof unauthorized>;

export function unauthorized(service: ServiceUrl) {
  const challenge = { false: wwwAuthenticate(service, false), true: wwwAuthenticate(service, true) };
  return {
    /** For a public read (docs/rules.md#401-on-a-public-read). */
    noLiveKey: (tokenSent: boolean): Answer =>
      error(401, invalidKeyBody, { 'WWW-Authenticate': challenge[`${tokenSent}`] }),
    /** For a /me operation: without a body (docs/rules.md#401-on-me). */
    noLiveToken: (tokenSent: boolean): Answer => ({
      status: 401,
      headers: { ...corsHeaders, 'Cache-Control': 'no-store', 'WWW-Authenticate': challenge[`${tokenSent}`] },
      body: null,
    }),
  };
}
