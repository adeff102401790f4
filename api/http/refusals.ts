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
 * Answers other than a success (docs/rules.md#errors, #problems). Each call makes a new object, because `send` adds
 * headers.
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
  /** Malformed HTTP. The connection closes, because what follows cannot be parsed either. */
  malformed: (): Answer => problem(problems.malformed, { Connection: 'close' }),
  methodNotAllowed: (): Answer => problem(problems.methodNotAllowed, { Allow: allow }),
  /** 405 for a path beside the interface (docs/rules.md#other-paths). */
  otherMethod: (methods: readonly string[]): Answer => problem(otherMethod(methods), { Allow: methods.join(', ') }),
  requestTimeout: (): Answer => problem(problems.requestTimeout, { Connection: 'close' }),
  targetTooLong: (): Answer => problem(problems.targetTooLong),
  headersTooLarge: (): Answer => problem(problems.headersTooLarge, { Connection: 'close' }),
  internal: (): Answer => problem(problems.internal),
  unavailable: (): Answer => problem(problems.unavailable, { 'Retry-After': '1' }),
};

/** Refusals of credentials. They name the resource metadata of one BASE_URL. */
export type Unauthorized = ReturnType<typeof unauthorized>;

export function unauthorized(baseUrl: string) {
  const challenge = { false: wwwAuthenticate(baseUrl, false), true: wwwAuthenticate(baseUrl, true) };
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
