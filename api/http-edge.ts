import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type Answer, corsHeaders } from './answer.ts';
import { problemContentType, problems } from './errors.ts';
import { allow } from './refusals.ts';

/**
 * What node:http would answer by itself, before any of our code sees a request: with no body, and without the headers
 * that every answer has (DESIGN §3, Answers). Here it gets problem details and CORS headers like any other failure.
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

/** Handles what the parser refuses. `owns` says whether a raw target is one of the interface's. */
export function onClientError(owns: (target: string) => boolean) {
  return (cause: Error & { code: string }, socket: Socket): void => {
    const error = cause as ParseError;
    // A parser that has failed fails again on all that follows.
    if (refused.has(socket)) return;
    refused.add(socket);
    if (error.code === 'ECONNRESET' || socket.destroyed) {
      socket.destroy();
      return;
    }
    refuseAfterAnswers(socket, rawProblem(problemOf(error, owns)));
  };
}

/** Handles requests for tunnels and for what we do not know how to expect. */
export function listenAtTheEdge(server: Server): void {
  server.on('connect', (_request: IncomingMessage, socket: Socket) =>
    refuseAfterAnswers(socket, rawProblem({ ...problems.methodNotAllowed, headers: { Allow: allow } })),
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
export const malformed = (): Answer => ({
  status: problems.malformed.status,
  headers: {
    ...corsHeaders,
    'Content-Type': problemContentType,
    'Cache-Control': 'no-store',
    Connection: 'close',
  },
  body: problems.malformed.body,
});

interface RawProblem {
  status: number;
  body: Buffer;
  headers?: Record<string, string>;
}

function problemOf(error: ParseError, owns: (target: string) => boolean): RawProblem {
  switch (error.code) {
    case 'HPE_HEADER_OVERFLOW':
      return hasLongTarget(error) ? problems.targetTooLong : problems.headersTooLarge;
    case 'HPE_INVALID_METHOD': {
      // Of a method that the parser never heard of all that it says is that it is wrong.
      const target = targetOfUnknownMethod(error);
      return target !== null && owns(target)
        ? { ...problems.methodNotAllowed, headers: { Allow: allow } }
        : problems.malformed;
    }
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return problems.requestTimeout;
    default:
      return problems.malformed;
  }
}

/** Whether the bytes at hand begin with a request line that alone is too much. */
const hasLongTarget = ({ rawPacket }: ParseError): boolean =>
  rawPacket !== undefined && new RegExp(`^[A-Z]+ [^ ]{${targetBytesMax + 1}}`).test(rawPacket.toString('latin1'));

function targetOfUnknownMethod({ rawPacket, bytesParsed = 0 }: ParseError): string | null {
  const text = rawPacket?.toString('latin1') ?? '';
  const start = bytesParsed === 0 ? 0 : text.lastIndexOf('\n', bytesParsed - 1) + 1;
  const [line = ''] = text.slice(start).split('\r\n', 1);
  return /^[\w!#$%&'*+.^`|~-]+ (\S+) HTTP\/1\.[01]$/.exec(line)?.[1] ?? null;
}

/** Answers to the requests before it go out first, in their order. */
function refuseAfterAnswers(socket: Socket, bytes: Buffer): void {
  const underWay = (socket as { _httpMessage?: ServerResponse | null })._httpMessage;
  if (underWay) {
    underWay.once('close', () => refuseAfterAnswers(socket, bytes));
    return;
  }
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  socket.end(bytes);
  setTimeout(() => socket.destroy(), lingerMs).unref();
}

function rawProblem({ status, body, headers = {} }: RawProblem): Buffer {
  const { title } = JSON.parse(body.toString()) as { title: string };
  const all = {
    'Content-Type': problemContentType,
    'Content-Length': String(body.length),
    'Cache-Control': 'no-store',
    ...corsHeaders,
    ...headers,
    Connection: 'close',
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.concat([Buffer.from(`HTTP/1.1 ${status} ${title}\r\n${lines.join('')}\r\n`), body]);
}
