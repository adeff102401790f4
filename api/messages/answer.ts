import type { IncomingHttpHeaders, ServerResponse } from 'node:http';

/** An answer as it is sent. */
export interface Answer {
  status: number;
  headers: Record<string, string>;
  body: Buffer | null;
}

// docs/rules.md#cors
export const corsHeaders = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': 'ETag, WWW-Authenticate, Retry-After',
} as const;

const alwaysAllowed = ['Authorization', 'X-Api-Key', 'If-None-Match'];
const askedNamesMax = 20;
const fieldName = /^[\w!#$%&'*+.^`|~-]{1,60}$/;

/**
 * The answer to OPTIONS on a path that takes these methods (docs/rules.md#options). A preflight is allowed whatever header
 * names it asks for: wrappers of fetch add some to every request, and none of them opens anything here.
 */
export function options(headers: IncomingHttpHeaders, allow: string): Answer {
  const answer: Answer = { status: 204, headers: { ...corsHeaders, Allow: allow }, body: null };
  if (headers['access-control-request-method'] === undefined) return answer;
  const asked = (headers['access-control-request-headers'] ?? '').split(',').map((name) => name.trim());
  const names = asked.filter((name) => fieldName.test(name)).slice(0, askedNamesMax);
  answer.headers['Access-Control-Allow-Methods'] = allow;
  answer.headers['Access-Control-Allow-Headers'] = [...alwaysAllowed, ...names].join(', ');
  answer.headers['Access-Control-Max-Age'] = '86400';
  return answer;
}

/**
 * A 200, or a 304 if the client has the answer already (docs/rules.md#etag, #if-none-match). `etag` includes its
 * quotes.
 */
export function success(
  etag: string,
  ifNoneMatch: string | undefined,
  caching: { 'Cache-Control': string; Vary?: string },
  body: () => Buffer,
): Answer {
  const headers: Record<string, string> = { ...corsHeaders, ETag: etag, ...caching };
  if (matchesEtag(ifNoneMatch, etag)) return { status: 304, headers, body: null };
  headers['Content-Type'] = 'application/json';
  return { status: 200, headers, body: body() };
}

// An entity-tag (RFC 9110 §8.8.3), and a list of them (§5.6.1), which may have empty items.
const tag = '(?:W/)?"[\\x21\\x23-\\x7e\\x80-\\xff]*"';
const list = new RegExp(`^[ \\t,]*${tag}(?:[ \\t]*,(?:[ \\t]*${tag})?)*[ \\t]*$`);
const tags = /"[\x21\x23-\x7e\x80-\xff]*"/g;

/**
 * Whether an If-None-Match header matches a strong ETag (with its quotes), by weak comparison (RFC 9110 §13.1.2). A
 * malformed header is ignored (docs/rules.md#if-none-match).
 */
function matchesEtag(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  if (header === etag || header.trim() === '*') return true;
  return header.includes(etag) && list.test(header) && (header.match(tags) as string[] | null)?.includes(etag) === true;
}

/** Sends an answer. For HEAD, node:http leaves out the body but keeps Content-Length (docs/rules.md#head). */
export function send(response: ServerResponse, { status, headers, body }: Answer): void {
  if (body) headers['Content-Length'] = String(body.length);
  else if (status !== 204 && status !== 304) headers['Content-Length'] = '0';
  response.writeHead(status, headers);
  response.end(body ?? undefined);
}
