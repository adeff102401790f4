import { IncomingMessage, METHODS } from 'node:http';
import type { Socket } from 'node:net';

const token = "[\\w!#$%&'*+.^`|~-]+";
const target = '[!-~\\x80-\\xff]+';
const requestLine = new RegExp(`^(${token}) (${target}) HTTP/(1\\.[01])$`);
const beginOfLine = new RegExp(`^(${token}) (${target}|)`);
const fieldLine = new RegExp(`^(${token}):[ \\t]*([\\t\\x20-\\x7e\\x80-\\xff]*?)[ \\t]*$`);
// A request line that is not whole yet: it ends in its method, its target or its version.
const lineSoFar = new RegExp(
  `^(?:${token}|${token} (?:${target})?|${token} ${target} (?:|H|HT|HTT|HTTP|HTTP/|HTTP/1|HTTP/1\\.|HTTP/1\\.[01]\\r?))$`,
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
