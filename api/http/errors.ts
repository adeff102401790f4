import { STATUS_CODES } from 'node:http';
import type { ErrorAnswer, Problem } from '../../schemas/interface/answers.ts';

/** Bodies of refusals and failures, as they are sent (docs/rules.md#errors, #problems). */

export const errorContentType = 'application/json';
export const problemContentType = 'application/problem+json';

/** Body of a 400, 401 or 404 of the interface. */
export function errorBody(error: ErrorAnswer['error'], input: string | null, detail: string | null): Buffer {
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

/** The body of any other failure (RFC 9457). Without `type`, so the title is the status code's own phrase. */
export function problemBody(status: number, title: string, detail: string): Buffer {
  const problem: Problem = { title, status, detail };
  return Buffer.from(JSON.stringify(problem));
}

function problem(status: number, detail: string): { status: number; body: Buffer } {
  return { status, body: problemBody(status, STATUS_CODES[status] ?? 'Error', detail) };
}

export const problems = {
  /** Malformed HTTP, which the parser refuses before there is a route. */
  malformed: problem(400, 'The request is not well-formed HTTP.'),
  methodNotAllowed: problem(405, 'This is read with GET or HEAD.'),
  requestTimeout: problem(408, 'The request did not arrive in time.'),
  targetTooLong: problem(414, 'URLs of up to 8,000 bytes are read.'),
  headersTooLarge: problem(431, 'The header fields are too large.'),
  internal: problem(500, 'Something went wrong here; the request may be sent again.'),
  unavailable: problem(503, 'The calendar can not be read just now; try again shortly.'),
} as const;

const alternatives = new Intl.ListFormat('en', { type: 'disjunction' });

/** For a path beside the interface that takes only these methods. */
export const otherMethod = (methods: readonly string[]): { status: number; body: Buffer } =>
  problem(405, `This takes ${alternatives.format(methods)}.`);
