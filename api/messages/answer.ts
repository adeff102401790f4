import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { type ByteText, bytesOf, EncodedBody, etagOf, etagsOf } from './encoded-body.ts';

export interface Answer {
  status: number;
  headers: Record<string, string>;
  body: Buffer | ByteText | null;
}

export const textOf = ({ body }: Answer): string => bytesOf(body ?? '').toString();

// docs/rules.md#cors
export const corsHeaders = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': 'ETag, WWW-Authenticate, Retry-After',
} as const;

/** In place of these, for pages and files that hold a key: no page of another origin reads or embeds them. */
export const ownOriginHeaders = { 'Cross-Origin-Resource-Policy': 'same-origin' } as const;

const alwaysAllowed = ['Authorization', 'X-Api-Key', 'If-None-Match'];
const askedNamesMax = 20;
const fieldName = /^[\w!#$%&'*+.^`|~-]{1,60}$/;

/**
 * The answer to OPTIONS on a path, or server, that takes these methods (docs/rules.md#options). A preflight is allowed whatever header
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

/** The headers that a 200 and its 304 share. */
export type Caching = Readonly<Record<'Cache-Control', string> & Record<string, string>>;

/**
 * A 200, or a 304 if the client has the answer already (docs/rules.md#etag, #if-none-match). `tag` names the content, in
 * whatever form. A 304's ETag is one that the client sent: it says which of its stored answers is still good. If the client
 * sent that of the form that it asks for, it is that.
 */
export function success(
  tag: string,
  { 'if-none-match': known, 'accept-encoding': accepted }: IncomingHttpHeaders,
  caching: Caching,
  body: () => Buffer | ByteText | EncodedBody,
  contentType = 'application/json',
  access: Record<string, string> = corsHeaders,
): Answer {
  const sent = known === undefined ? null : matchedEtag(known, accepted, tag);
  const headers: Record<string, string> = { ...access, ETag: sent ?? `"${tag}"`, ...caching };
  if (sent !== null && sent !== any) return { status: 304, headers, body: null };
  const made = body();
  const { bytes, coding } = made instanceof EncodedBody ? made.formFor(accepted) : { bytes: made, coding: null };
  headers.ETag = etagOf(tag, coding);
  if (sent === any) return { status: 304, headers, body: null };
  headers['Content-Type'] = contentType;
  if (coding !== null) headers['Content-Encoding'] = coding.name;
  return { status: 200, headers, body: bytes };
}

// An entity-tag (RFC 9110 §8.8.3), and a list of them (§5.6.1), which may have empty items.
const tag = '(?:W/)?"[\\x21\\x23-\\x7e\\x80-\\xff]*"';
const list = new RegExp(`^[ \\t,]*${tag}(?:[ \\t]*,(?:[ \\t]*${tag})?)*[ \\t]*$`);
const tags = /"[\x21\x23-\x7e\x80-\xff]*"/g;

const any = '*';

/**
 * What an If-None-Match header has that matches, by weak comparison (RFC 9110 §13.1.2): the content's ETag in one of its
 * forms, or `*`. Null: nothing. A malformed header is ignored (docs/rules.md#if-none-match).
 */
function matchedEtag(header: string, accepted: string | undefined, tag: string): string | null {
  if (header === `"${tag}"`) return header;
  if (header.trim() === any) return any;
  if (!header.includes(`"${tag}`) || !list.test(header)) return null;
  const sent = header.match(tags) as string[];
  return etagsOf(tag, accepted).find((ours) => sent.includes(ours)) ?? null;
}

/** Sends an answer. For HEAD, node:http leaves out the body but keeps Content-Length (docs/rules.md#head). */
export function send(response: ServerResponse, { status, headers, body }: Answer): void {
  if (body) headers['Content-Length'] = String(body.length);
  else if (status !== 204 && status !== 304) headers['Content-Length'] = '0';
  response.writeHead(status, headers);
  response.end(body ?? undefined, 'latin1');
}
