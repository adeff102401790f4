import type { IncomingMessage } from 'node:http';
import { type Answer, corsHeaders } from './answer.ts';
import { refuse } from './refusals.ts';

/** Header fields of 32 kB. Tokens and cookies fit easily. */
export const fieldBytesMax = 32 * 1024;
/** What separates a field's name from its value, and ends its line. */
const fieldOverhead = ': \r\n'.length;

// RFC 9110 §7.2: uri-host, and a port. The host of an http URI must not be empty (§4.2.1).
const host = /^(?:\[[\dA-Fa-f:.]+\]|(?:[\w.~!$&'()*+,;=-]|%[\dA-Fa-f]{2})+)(?::\d*)?$/;
const chunkedLast = /(?:^|,)[ \t]*chunked[ \t]*$/i;
const authorityForm = /^(?:\[[\dA-Fa-f:.]+\]|[^/?#@:]+):\d+$/;
const absoluteForm = /^[a-z][a-z0-9+.-]*:\/\/[^/?]*/i;

/**
 * Checks a request whose head node:http could parse, before anything reads its target
 * (docs/rules.md#malformed-requests). Returns an answer if the request is malformed, too large, or about the server as
 * a whole; else null. A target in absolute form, which every server must accept (RFC 9112 §3.2.2), is rewritten to
 * origin form.
 */
export function answerToHead(request: IncomingMessage): Answer | null {
  // node:http also accepts HTTP/0.9 and HTTP/2.0 in a request line.
  if (request.httpVersion !== '1.1' && request.httpVersion !== '1.0') return refuse.malformed();
  const coding = request.headers['transfer-encoding'];
  if (coding !== undefined && !chunkedLast.test(coding)) return refuse.malformed();
  const { rawHeaders } = request;
  let hosts = 0;
  let bytes = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!;
    const value = rawHeaders[i + 1]!;
    bytes += name.length + value.length + fieldOverhead;
    if (name.length !== 4 || name.toLowerCase() !== 'host') continue;
    hosts += 1;
    if (hosts > 1 || !host.test(value)) return refuse.malformed();
  }
  // RFC 9112 §3.2. Only HTTP/1.1 requires Host.
  if (hosts === 0 && request.httpVersion === '1.1') return refuse.malformed();
  if (bytes > fieldBytesMax) return refuse.headersTooLarge();
  return answerToTarget(request);
}

function answerToTarget(request: IncomingMessage): Answer | null {
  const target = request.url ?? '';
  if (target.startsWith('/')) return null;
  if (target === '*' && request.method === 'OPTIONS') {
    return { status: 204, headers: { ...corsHeaders, Allow: 'GET, HEAD, POST, OPTIONS' }, body: null };
  }
  // Only CONNECT has a target of this form (RFC 9112 §3.2.3), and this server is no proxy.
  if (request.method === 'CONNECT' && authorityForm.test(target)) return refuse.methodNotAllowed();
  const authority = absoluteForm.exec(target)?.[0];
  if (authority === undefined) return refuse.malformed();
  const local = target.slice(authority.length);
  request.url = local.startsWith('/') ? local : `/${local}`;
  return null;
}
