import { wwwAuthenticate } from '../tokens/www-authenticate.ts';
import { type Answer, corsHeaders } from './answer.ts';
import {
  errorContentType,
  invalidKeyBody,
  invalidRequest,
  otherMethod,
  problemContentType,
  problems,
} from './errors.ts';

/**
 * Answers that are no success (docs/rules.md#errors, #problems). Each call makes a new one: `send` adds to its headers.
 */

const error = (status: number, body: Buffer, headers: Record<string, string> = {}): Answer => ({
  status,
  headers: { ...corsHeaders, 'Content-Type': errorContentType, 'Cache-Control': 'no-store', ...headers },
  body,
});

const problem = ({ status, body }: { status: number; body: Buffer }, headers: Record<string, string> = {}): Answer => ({
  status,
  headers: { ...corsHeaders, 'Content-Type': problemContentType, 'Cache-Control': 'no-store', ...headers },
  body,
});

export const allow = 'GET, HEAD, OPTIONS';

export const refuse = {
  invalid: (input: string, detail: string): Answer => error(400, invalidRequest(input, detail)),
  notFound: (body: Buffer): Answer => error(404, body),
  /** What is no HTTP, or can't be read as what it says it is: what follows it can't be read either. */
  malformed: (): Answer => problem(problems.malformed, { Connection: 'close' }),
  methodNotAllowed: (): Answer => problem(problems.methodNotAllowed, { Allow: allow }),
  /** The same of a path beside the interface (docs/rules.md#other-paths). */
  otherMethod: (methods: readonly string[]): Answer => problem(otherMethod(methods), { Allow: methods.join(', ') }),
  requestTimeout: (): Answer => problem(problems.requestTimeout, { Connection: 'close' }),
  targetTooLong: (): Answer => problem(problems.targetTooLong),
  headersTooLarge: (): Answer => problem(problems.headersTooLarge, { Connection: 'close' }),
  internal: (): Answer => problem(problems.internal),
  unavailable: (): Answer => problem(problems.unavailable, { 'Retry-After': '1' }),
};

/** Refusals of credentials, which name the metadata of one BASE_URL. */
export type Unauthorized = ReturnType<typeof unauthorized>;

export function unauthorized(baseUrl: string) {
  const challenge = { false: wwwAuthenticate(baseUrl, false), true: wwwAuthenticate(baseUrl, true) };
  return {
    /** On a public read (docs/rules.md#401-on-a-public-read). */
    noLiveKey: (tokenSent: boolean): Answer =>
      error(401, invalidKeyBody, { 'WWW-Authenticate': challenge[`${tokenSent}`] }),
    /** On a /me operation: no body (docs/rules.md#401-on-me). */
    noLiveToken: (tokenSent: boolean): Answer => ({
      status: 401,
      headers: { ...corsHeaders, 'Cache-Control': 'no-store', 'WWW-Authenticate': challenge[`${tokenSent}`] },
      body: null,
    }),
  };
}
