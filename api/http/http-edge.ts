import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { CalendarRequest } from '../calendar/calendar.ts';
import { type Answer, corsHeaders } from './answer.ts';
import { problemContentType, problems } from './errors.ts';
import { allow } from './refusals.ts';

/**
 * What node:http would answer by itself, before any of our code sees a request: with no body, and without the headers
 * that every answer has (docs/rules.md#cors). Here it gets problem details and CORS headers like any other failure.
 */

interface ParseError {
  code: string;
  rawPacket?: Buffer;
  bytesParsed?: number;
}

/** How long a connection stays open after a refusal: closed at once, the refusal would be lost with what is unread. */
const lingerMs = 1_000;
const targetBytesMax = 8_000;

const refused = new WeakSet<Socket>();

/** The interface, as far as it is needed for what the parser refuses. */
export interface EdgeDeps {
  /** Whether a raw target is one of the interface's. */
  owns(target: string): boolean;
  handle(request: CalendarRequest): { answer: Answer | Promise<Answer> };
}

/** Handles what the parser refuses. */
export function onClientError({ owns, handle }: EdgeDeps) {
  return (cause: Error & { code: string }, socket: Socket): void => {
    const error = cause as ParseError;
    // A parser that has failed fails again on all that follows.
    if (refused.has(socket)) return;
    refused.add(socket);
    if (error.code === 'ECONNRESET' || socket.destroyed) {
      socket.destroy();
      return;
    }
    const request = requestWithRawBytes(error);
    if (request && owns(request.target)) {
      const send = (answer: Answer): void => refuseAfterAnswers(socket, rawAnswer(answer, request.method));
      const { answer } = handle(request);
      if (answer instanceof Promise) void answer.then(send);
      else send(answer);
    } else refuseAfterAnswers(socket, rawAnswer(problemOf(error, owns)));
  };
}

/**
 * Handles requests for tunnels, what we do not know how to expect, and bodies that take longer than `bodyMsMax` to
 * arrive: node:http itself looks after heads alone.
 */
export function listenAtTheEdge(server: Server, bodyMsMax: number): void {
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const { headers, socket } = request;
    if (headers['content-length'] === undefined && headers['transfer-encoding'] === undefined) return;
    const late = (): void => {
      if (request.complete) return;
      const inTurn = responseUnderWay(socket) === response && !response.headersSent;
      if (inTurn) endWith(socket, rawAnswer(problem(problems.requestTimeout)));
      else socket.destroy();
    };
    const timer = setTimeout(late, bodyMsMax).unref();
    request.once('close', () => clearTimeout(timer));
  });
  server.on('connect', (_request: IncomingMessage, socket: Socket) =>
    refuseAfterAnswers(socket, rawAnswer(problem(problems.methodNotAllowed, { Allow: allow }))),
  );
  // A server need not know them all (RFC 9110 §10.1.1).
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) =>
    server.emit('request', request, response),
  );
}

/** Every request of HTTP/1.1 names its host (RFC 9112 §3.2); node:http reads HTTP/0.9 too, which we do not speak. */
export const lacksHost = (request: IncomingMessage): boolean =>
  request.headers.host === undefined && request.httpVersion !== '1.0';

/** The answer to a request that is not well-formed, though it was parsed. */
export const malformed = (): Answer => problem(problems.malformed, { Connection: 'close' });

const problem = ({ status, body }: { status: number; body: Buffer }, headers: Record<string, string> = {}): Answer => ({
  status,
  headers: { ...corsHeaders, 'Content-Type': problemContentType, 'Cache-Control': 'no-store', ...headers },
  body,
});

function problemOf(error: ParseError, owns: EdgeDeps['owns']): Answer {
  switch (error.code) {
    case 'HPE_HEADER_OVERFLOW':
      return problem(hasLongTarget(error) ? problems.targetTooLong : problems.headersTooLarge);
    case 'HPE_INVALID_METHOD': {
      // Of a method that the parser never heard of all that it says is that it is wrong.
      const target = /^[\w!#$%&'*+.^`|~-]+ (\S+) HTTP\/1\.[01]\r\n/.exec(restOf(error))?.[1];
      return target !== undefined && owns(target)
        ? problem(problems.methodNotAllowed, { Allow: allow })
        : problem(problems.malformed);
    }
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return problem(problems.requestTimeout);
    default:
      return problem(problems.malformed);
  }
}

/** Whether the bytes at hand begin with a request line that alone is too much. */
const hasLongTarget = ({ rawPacket }: ParseError): boolean =>
  rawPacket !== undefined && new RegExp(`^[A-Z]+ [^ ]{${targetBytesMax + 1}}`).test(rawPacket.toString('latin1'));

/** The bytes at hand from the line on that the parser stopped in. */
function restOf({ rawPacket, bytesParsed = 0 }: ParseError): string {
  const text = rawPacket?.toString('latin1') ?? '';
  return text.slice(bytesParsed === 0 ? 0 : text.lastIndexOf('\n', bytesParsed - 1) + 1);
}

/**
 * The parser refuses targets with bytes past 0x7f. In a parameter they are a wrong input, like all that is no
 * percent-encoded UTF-8 (docs/rules.md#broken-encoding): so such a request's head is read here. Null for any other.
 */
function requestWithRawBytes(error: ParseError): CalendarRequest | null {
  if (error.code !== 'HPE_INVALID_URL') return null;
  const [head, more] = restOf(error).split('\r\n\r\n', 2);
  const [line = '', ...fields] = head!.split('\r\n');
  const [, method, target] = /^([A-Z]+) (\/[!-~\x80-\xff]+) HTTP\/1\.[01]$/.exec(line) ?? [];
  if (more === undefined || method === undefined || target === undefined) return null;
  const headers: Record<string, string> = {};
  for (const field of fields) {
    const [, name, value] = /^([\w!#$%&'*+.^`|~-]+):([\t\x20-\x7e\x80-\xff]*)$/.exec(field) ?? [];
    if (name === undefined || value === undefined) return null;
    headers[name.toLowerCase()] = value.trim();
  }
  return { method, target, headers };
}

const responseUnderWay = (socket: Socket): ServerResponse | null | undefined =>
  (socket as { _httpMessage?: ServerResponse | null })._httpMessage;

/** Answers to the requests before it go out first, in their order. */
function refuseAfterAnswers(socket: Socket, bytes: Buffer): void {
  const underWay = responseUnderWay(socket);
  if (underWay) underWay.once('close', () => refuseAfterAnswers(socket, bytes));
  else endWith(socket, bytes);
}

function endWith(socket: Socket, bytes: Buffer): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  socket.end(bytes);
  setTimeout(() => socket.destroy(), lingerMs).unref();
}

function rawAnswer({ status, headers, body }: Answer, method = 'GET'): Buffer {
  const length = body
    ? { 'Content-Length': String(body.length) }
    : status === 304 || status === 204
      ? {}
      : { 'Content-Length': '0' };
  const lines = Object.entries({ ...headers, ...length, Connection: 'close' }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  const head = Buffer.from(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n`, 'latin1');
  return body && method !== 'HEAD' ? Buffer.concat([head, body]) : head;
}
