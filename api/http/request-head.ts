import { IncomingMessage, METHODS } from 'node:http';
import type { Socket } from 'node:net';
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

const token = "[\\w!#$%&'*+.^`|~-]+";
const targetText = '[!-~\\x80-\\xff]+';
const requestLine = new RegExp(`^(${token}) (${targetText}) HTTP/(1\\.[01])$`);
const beginOfLine = new RegExp(`^(${token}) (${targetText}|)`);
const fieldLine = new RegExp(`^(${token}):[ \\t]*([\\t\\x20-\\x7e\\x80-\\xff]*?)[ \\t]*$`);
// A request line that is not whole yet: it ends in its method, its target or its version.
const lineSoFar = new RegExp(
  `^(?:${token}|${token} (?:${targetText})?|${token} ${targetText} (?:|H|HT|HTT|HTTP|HTTP/|HTTP/1|HTTP/1\\.|HTTP/1\\.[01]\\r?))$`,
);

/** The method of a head, and its target as far as it has come; null while the method is not whole. */
export function beginOf(head: string): { method: string; target: string } | null {
  const [, method, target] = beginOfLine.exec(head) ?? [];
  return method !== undefined && target !== undefined ? { method, target } : null;
}

/**
 * Reads a head that the parser refuses only because it does not know the method, or because the target has bytes past 0x7f.
 * Such a method is as wrong as any other, and such bytes are a wrong input, like all text that is not percent-encoded UTF-8
 * (docs/rules.md#broken-encoding). Returns null for any other head, and `more` while the head is not whole: what is still to
 * come may be wrong too. The body stays unread.
 */
export function readRefused(text: string, socket: Socket): IncomingMessage | 'more' | null {
  const end = text.indexOf('\r\n\r\n');
  const [line = '', ...fields] = (end === -1 ? text : text.slice(0, end)).split('\r\n');
  const lineIsWhole = end !== -1 || fields.length > 0;
  if (!(lineIsWhole ? requestLine : lineSoFar).test(line) || !isWorthReading(line)) return null;
  if (end === -1) return 'more';
  const [, method, target, version] = requestLine.exec(line)!;
  const request = unread(socket, method, version);
  request.url = target!;
  request.headers = {};
  for (const field of fields) {
    const [, name, value] = fieldLine.exec(field) ?? [];
    if (name === undefined || value === undefined) return null;
    request.rawHeaders.push(name, value);
    request.headers[name.toLowerCase()] ??= value;
  }
  return request;
}

/** The parser knows CONNECT, but refuses a path as its target. */
function isWorthReading(line: string): boolean {
  const [method = ''] = line.split(' ', 1);
  return !METHODS.includes(method) || method === 'CONNECT' || /[\x80-\xff]/.test(line);
}

/** A request of which nothing is read. */
export function unread(socket: Socket, method = 'GET', version = '1.1'): IncomingMessage {
  const request = new IncomingMessage(socket);
  const minor = Number(version.slice(2));
  Object.assign(request, {
    method,
    httpVersion: version,
    httpVersionMajor: 1,
    httpVersionMinor: minor,
    complete: true,
  });
  request.push(null);
  return request;
}
