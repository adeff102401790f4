import { createServer, IncomingMessage, METHODS, type RequestListener, type Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type Answer, send } from './answer.ts';
import { refuse } from './refusals.ts';
import { answerToHead, fieldBytesMax } from './request-head.ts';

/**
 * Refusals that node:http would send by itself, before our code sees a request: without a body, and without the headers
 * that every answer has (docs/rules.md#cors). Here they get problem details and CORS headers like any other failure.
 */

interface ParseError extends Error {
  code: string;
  rawPacket?: Buffer;
  bytesParsed?: number;
}

/** How long a request may take to arrive, its body included, and how often that is checked. */
export interface Arrival {
  timeoutMs: number;
  checkEveryMs: number;
}

// URLs of up to 8,000 bytes work (docs/rules.md#long-urls).
export const targetBytesMax = 8_000;
// node:http still parses heads that are larger than what we accept, up to this size: if the parser refuses the second
// packet of a head, the method is no longer known. The size is below node:http's packet of 64 kB, for the same reason.
const parsedHeadBytesMax = 48 * 1024;
const keepAliveMs = 72_000;
/**
 * How long a connection stays open after a refusal. If it closed at once, unread bytes would make the client lose the
 * refusal.
 */
const lingerMs = 1_000;

if (parsedHeadBytesMax < fieldBytesMax + targetBytesMax) throw new Error('a head that is read must be parsed');

/** Makes the HTTP server that sends every answer. */
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
      // node:http itself checks only how long heads take.
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
    // After one failure the parser fails on everything that follows.
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
  // A server may ignore expectations that it does not know (RFC 9110 §10.1.1).
  server.on('checkExpectation', onRequest);
  return server;
}

function answerTo(error: ParseError): Answer {
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') return refuse.requestTimeout();
  if (error.code !== 'HPE_HEADER_OVERFLOW') return refuse.malformed();
  if ((requestLineOf(error)?.target.length ?? 0) > targetBytesMax) return refuse.targetTooLong();
  const answer = refuse.headersTooLarge();
  // If the method is unknown it may be HEAD, whose answer has no body.
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

/** The request line of the request that the parser failed in. Undefined if the bytes at hand do not hold it. */
function requestLineOf({ rawPacket, bytesParsed = 0 }: ParseError): { method: string; target: string } | null {
  const text = rawPacket?.toString('latin1') ?? '';
  // The request before it ends with an empty line, unless it has a body.
  const end = bytesParsed > 0 ? text.lastIndexOf('\r\n\r\n', bytesParsed - 1) : -1;
  const [, method, target] = beginOfLine.exec(end === -1 ? text : text.slice(end + 4)) ?? [];
  return method !== undefined && target !== undefined ? { method, target } : null;
}

const methodOf = (error: ParseError): string | undefined => requestLineOf(error)?.method;

/** The bytes at hand, from the start of the line in which the parser stopped. */
function restOf({ rawPacket, bytesParsed = 0 }: ParseError): string {
  const text = rawPacket?.toString('latin1') ?? '';
  return text.slice(bytesParsed === 0 ? 0 : text.lastIndexOf('\n', bytesParsed - 1) + 1);
}

/**
 * Reads the head of a request that the parser refuses because it does not know the method, or because the target has
 * bytes above 0x7f. The first is a wrong method, the second a wrong input (docs/rules.md#broken-encoding). Returns null
 * for any other request. The body is left unread.
 */
function readHead(error: ParseError, socket: Socket): { request: IncomingMessage; whole: boolean } | null {
  const [head = '', more] = restOf(error).split('\r\n\r\n', 2);
  const whole = more !== undefined;
  const [line = '', ...fields] = head.split('\r\n');
  const [, method, target, version] = requestLine.exec(line) ?? [];
  if (method === undefined || target === undefined || version === undefined) return null;
  const unknown = !METHODS.includes(method);
  if (!unknown && !/[\x80-\xff]/.test(target)) return null;
  // The method alone decides this answer. Credentials may not have arrived yet.
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

/** A request object for a request that was not read. */
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

/** Ends a request whose body did not arrive in time or is malformed. Sends an answer unless one was sent already. */
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

/** Runs after the answers to earlier requests on the connection are sent, to keep the order. */
function afterAnswers(socket: Socket, then: () => void): void {
  const underWay = responseUnderWay(socket);
  if (underWay) underWay.once('close', () => afterAnswers(socket, then));
  else then();
}

/** Answers a request for which node:http made no response object, as the last of its connection. */
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
