import { wwwAuthenticate } from '../tokens/www-authenticate.ts';
import { type Answer, corsHeaders } from './answer.ts';
import { errorContentType, invalidKeyBody, invalidRequest, problemContentType, problems } from './errors.ts';

/** Answers that are no success (docs/rules.md#errors), for one BASE_URL. */
export function refusals(baseUrl: string) {
  const challenge = { false: wwwAuthenticate(baseUrl, false), true: wwwAuthenticate(baseUrl, true) };
  const error = (status: number, body: Buffer, headers: Record<string, string> = {}): Answer => ({
    status,
    headers: { ...corsHeaders, 'Content-Type': errorContentType, 'Cache-Control': 'no-store', ...headers },
    body,
  });
  const problem = (
    { status, body }: { status: number; body: Buffer },
    headers: Record<string, string> = {},
  ): Answer => ({
    status,
    headers: { ...corsHeaders, 'Content-Type': problemContentType, 'Cache-Control': 'no-store', ...headers },
    body,
  });
  return {
    invalid: (input: string, detail: string): Answer => error(400, invalidRequest(input, detail)),
    notFound: (body: Buffer): Answer => error(404, body),
    /** On a public read (docs/rules.md#401-on-a-public-read). */
    noLiveKey: (tokenSent: boolean): Answer =>
      error(401, invalidKeyBody, { 'WWW-Authenticate': challenge[`${tokenSent}`] }),
    /** On a /me operation: no body (docs/rules.md#401-on-me). */
    noLiveToken: (tokenSent: boolean): Answer => ({
      status: 401,
      headers: { ...corsHeaders, 'Cache-Control': 'no-store', 'WWW-Authenticate': challenge[`${tokenSent}`] },
      body: null,
    }),
    methodNotAllowed: (): Answer => problem(problems.methodNotAllowed, { Allow: allow }),
    targetTooLong: (): Answer => problem(problems.targetTooLong),
    internal: (): Answer => problem(problems.internal),
    unavailable: (): Answer => problem(problems.unavailable, { 'Retry-After': '1' }),
  };
}

export const allow = 'GET, HEAD, OPTIONS';
