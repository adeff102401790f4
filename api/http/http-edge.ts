import { createServer, IncomingMessage, METHODS, type RequestListener, type Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type Answer, send } from './answer.ts';
import { refuse } from './refusals.ts';
import { answerToHead, fieldBytesMax } from './request-head.ts';

/**
 * What node:http would answer by itself, before any of our code sees a request: with no body, and without the headers
 * that every answer has (docs/rules.md#cors). Here it gets problem details and CORS headers like any other failure.
 */

interface ParseError extends Error {
  code: string;
  rawPacket?: Buffer;
  bytesParsed?: number;
}

/** Longest time for a request to arrive, its body included, and how often that is looked at. */
export interface Arrival {
  timeoutMs: number;
  checkEveryMs: number;
}

// URLs of up to 8,000 bytes work (docs/rules.md#long-urls).
export const targetBytesMax = 8_000;
// Heads larger than what is read are parsed all the same, up to here: of what the parser refuses in its second packet
// nobody knows the method any more. Less than a packet of node:http, 64 kB, for the same reason.
const parsedHeadBytesMax = 48 * 1024;
const keepAliveMs = 72_000;
/** How long a connection stays open after a refusal: closed at once, the refusal would be lost with what is unread. */
const lingerMs = 1_000;

if (parsedHeadBytesMax < fieldBytesMax + targetBytesMax) throw new Error('a head that is read must be parsed');

/** Makes the server that everything is answered by. */
export function edgeServer(listener: RequestListener, { timeoutMs, checkEveryMs }: Arrival): Server {
  const limits = { maxHeaderSize: parsedHeadBytesMax, requestTimeout: timeoutMs, keepAliveTimeout: keepAliveMs };
  const server = createServer(
    { ...limits, requireHostHeader: false, connectionsCheckingInterval: checkEveryMs },
    onRequest,
  );
  const bodies = new WeakMap<Socket, [IncomingMessage, ServerResponse]>();
  const refused = new WeakSet<Socket>();

  function onRequest(request: IncomingMessage, response: ServerResponse): void {
    const { headers, socket } = request;
    const hasBody = headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
    if (hasBody && !request.complete) {
      bodies.set(socket, [request, response]);
      // node:http itself looks after heads alone.
      const late = (): void => void (request.complete || cutShort(response, socket, refuse.requestTimeout()));
      const timer = setTimeout(late, timeoutMs).unref();
      request.once('close', () => clearTimeout(timer));
    }
    const answer = answerToHead(request);
    if (answer) send(response, answer);
    else listener(request, response);
  }

  server.on('clientError', (cause, stream) => {
    const error = cause as ParseError;
    const socket = stream as Socket;
    // A parser that has failed fails again on all that follows.
    if (refused.has(socket)) return;
    refused.add(socket);
    if (error.code === 'ECONNRESET' || socket.destroyed) {
      socket.destroy();
      return;
    }
    const [request, response] = bodies.get(socket) ?? [];
    if (request && response && !request.complete) return cutShort(response, socket, answerTo(error));
    const read = readHead(error, socket);
    afterAnswers(socket, () => {
      if (read) answerOn(socket, read.request, read.whole ? onRequest : listener);
      else answerOn(socket, unread(socket, methodOf(error)), (_, response) => send(response, answerTo(error)));
    });
  });
  server.on('connect', (request, socket) =>
    afterAnswers(socket as Socket, () =>
      answerOn(socket as Socket, request, (_, response) => send(response, refuse.methodNotAllowed())),
    ),
  );
  // A server need not know them all (RFC 9110 §10.1.1).
  server.on('checkExpectation', onRequest);
  return server;
}

function answerTo(error: ParseError): Answer {
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') return refuse.requestTimeout();
  if (error.code !== 'HPE_HEADER_OVERFLOW') return refuse.malformed();
  if ((requestLineOf(error)?.target.length ?? 0) > targetBytesMax) return refuse.targetTooLong();
  const answer = refuse.headersTooLarge();
  // It may be a HEAD, whose answer has no body.
  return methodOf(error) === undefined ? withoutBody(answer) : answer;
}

function withoutBody({ status, headers }: Answer): Answer {
  const { 'Content-Type': _, ...others } = headers;
  return { status, headers: others, body: null };
}

const token = "[\\w!#$%&'*+.^`|~-]+";
const beginOfLine = new RegExp(`^(${token}) ([!-~\\x80-\\xff]+)`);
const requestLine = new RegExp(`^(${token}) ([!-~\\x80-\\xff]+) HTTP/(1\\.[01])$`);
const fieldLine = new RegExp(`^(${token}):[ \\t]*([\\t\\x20-\\x7e\\x80-\\xff]*?)[ \\t]*$`);

/** How the request begins that the parser failed in, where the bytes at hand hold its begin. */
function requestLineOf({ rawPacket, bytesParsed = 0 }: ParseError): { method: string; target: string } | null {
  const text = rawPacket?.toString('latin1') ?? '';
  // The one before ends with an empty line, unless it has a body.
  const end = bytesParsed > 0 ? text.lastIndexOf('\r\n\r\n', bytesParsed - 1) : -1;
  const [, method, target] = beginOfLine.exec(end === -1 ? text : text.slice(end + 4)) ?? [];
  return method !== undefined && target !== undefined ? { method, target } : null;
}

const methodOf = (error: ParseError): string | undefined => requestLineOf(error)?.method;

/** The bytes at hand from the line on that the parser stopped in. */
function restOf({ rawPacket, bytesParsed = 0 }: ParseError): string {
  const text = rawPacket?.toString('latin1') ?? '';
  return text.slice(bytesParsed === 0 ? 0 : text.lastIndexOf('\n', bytesParsed - 1) + 1);
}

/**
 * Reads the head of a request that the parser refuses for its method, which it does not know, or for bytes past 0x7f in
 * its target. Such a method is as wrong as any other, and such bytes are a wrong input like all that is no
 * percent-encoded UTF-8 (docs/rules.md#broken-encoding). Null for any other. Its body is left unread.
 */
function readHead(error: ParseError, socket: Socket): { request: IncomingMessage; whole: boolean } | null {
  const [head = '', more] = restOf(error).split('\r\n\r\n', 2);
  const whole = more !== undefined;
  const [line = '', ...fields] = head.split('\r\n');
  const [, method, target, version] = requestLine.exec(line) ?? [];
  if (method === undefined || target === undefined || version === undefined) return null;
  const unknown = !METHODS.includes(method);
  if (!unknown && !/[\x80-\xff]/.test(target)) return null;
  // A method alone says what the answer is; credentials may still be on their way.
  if (!whole && (!unknown || fields.length === 0)) return null;
  const request = unread(socket, method, version);
  request.url = target;
  if (!whole) return isPath(target) ? { request, whole } : null;
  request.headers = {};
  for (const field of fields) {
    const [, name, value] = fieldLine.exec(field) ?? [];
    if (name === undefined || value === undefined) return null;
    request.rawHeaders.push(name, value);
    request.headers[name.toLowerCase()] ??= value;
  }
  return { request, whole };
}

const isPath = (target: string): boolean => target.startsWith('/');

/** A request of which nothing is read. */
function unread(socket: Socket, method = 'GET', version = '1.1'): IncomingMessage {
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

/** Ends a request whose body did not arrive, or is none: with an answer unless it has got one already. */
function cutShort(response: ServerResponse, socket: Socket, answer: Answer): void {
  const underWay = responseUnderWay(socket);
  if (underWay && underWay !== response) {
    underWay.once('close', () => cutShort(response, socket, answer));
  } else if (underWay && !response.headersSent) {
    response.detachSocket(socket);
    answerOn(socket, response.req, (_, ours) => send(ours, answer));
  } else afterAnswers(socket, () => end(socket));
}

const responseUnderWay = (socket: Socket): ServerResponse | null | undefined =>
  (socket as { _httpMessage?: ServerResponse | null })._httpMessage;

/** Answers to the requests before it go out first, in their order. */
function afterAnswers(socket: Socket, then: () => void): void {
  const underWay = responseUnderWay(socket);
  if (underWay) underWay.once('close', () => afterAnswers(socket, then));
  else then();
}

/** Has a request answered that node:http made no response for, as the connection's last. */
function answerOn(socket: Socket, request: IncomingMessage, listener: RequestListener): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(socket);
  response.once('finish', () => {
    response.detachSocket(socket);
    end(socket);
  });
  listener(request, response);
}

function end(socket: Socket): void {
  socket.end();
  setTimeout(() => socket.destroy(), lingerMs).unref();
}
