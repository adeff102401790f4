import { createServer, type IncomingMessage, type RequestListener, type Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type Answer, send } from './answer.ts';
import { refuse } from './refusals.ts';
import { answerToHead, beginOf, fieldBytesMax, readRefused, unread } from './request-head.ts';
import { type HeadSoFar, unfinishedHeads } from './unfinished-heads.ts';

/**
 * Refusals that node:http would send by itself, before our code sees a request: without a body, and without the headers
 * that every answer has (docs/rules.md#cors). Here they get problem details and CORS headers like any other failure.
 */

interface ParseError extends Error {
  code: string;
  rawPacket?: Buffer;
}

/** How long a request may take to arrive, its body included, and how often that is checked. */
export interface Arrival {
  timeoutMs: number;
  checkEveryMs: number;
}

// URLs of up to 8,000 bytes work (docs/rules.md#long-urls).
export const targetBytesMax = 8_000;
// node:http still parses heads that are larger than what we accept, up to this size: they get a 414 or 431 of ours.
const parsedHeadBytesMax = 48 * 1024;
const keepAliveMs = 72_000;
/**
 * How long a connection stays open after a refusal. If it closed at once, unread bytes would make the client lose the
 * refusal.
 */
const lingerMs = 1_000;

if (parsedHeadBytesMax < fieldBytesMax + targetBytesMax) throw new Error('a head that is read must be parsed');

// Error codes of node:http, for a head that is not whole: it took too long, grew too large, or the client closed.
const late = 'ERR_HTTP_REQUEST_TIMEOUT';
const overflow = 'HPE_HEADER_OVERFLOW';
const ended = 'HPE_INVALID_EOF_STATE';
const ignore = (): void => {};

/** Makes the HTTP server that sends every answer. */
export function edgeServer(listener: RequestListener, { timeoutMs, checkEveryMs }: Arrival): Server {
  const limits = { maxHeaderSize: parsedHeadBytesMax, requestTimeout: timeoutMs, keepAliveTimeout: keepAliveMs };
  const server = createServer(
    { ...limits, requireHostHeader: false, connectionsCheckingInterval: checkEveryMs },
    onRequest,
  );
  const bodies = new WeakMap<Socket, [IncomingMessage, ServerResponse]>();
  /** Handlers of sockets whose parser has failed. After one failure it fails again on every packet. */
  const refused = new WeakMap<Socket, (error: ParseError) => void>();
  const heads = unfinishedHeads(server);

  function onRequest(request: IncomingMessage, response: ServerResponse): void {
    const { headers, socket } = request;
    const hasBody = headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
    heads.done(socket, hasBody ? request : null);
    if (hasBody && !request.complete) {
      bodies.set(socket, [request, response]);
      // node:http itself checks only how long heads take.
      const late = (): void => void (request.complete || cutShort(response, socket, refuse.requestTimeout()));
      const timer = setTimeout(late, timeoutMs).unref();
      request.once('close', () => clearTimeout(timer));
    }
    onHead(request, response);
  }

  function onHead(request: IncomingMessage, response: ServerResponse): void {
    const answer = answerToHead(request);
    if (answer) send(response, answer);
    else listener(request, response);
  }

  server.on('clientError', (cause, stream) => {
    const error = cause as ParseError;
    const socket = stream as Socket;
    if (error.code === 'ECONNRESET' || socket.destroyed) {
      socket.destroy();
      return;
    }
    const goOn = refused.get(socket);
    if (goOn) return goOn(error);
    refused.set(socket, ignore);
    const [request, response] = bodies.get(socket) ?? [];
    if (request && response && !request.complete) return cutShort(response, socket, answerTo(error.code, null));
    const head = heads.of(socket, error.rawPacket);
    heads.forget(socket);
    refuseHead(socket, head, error.code);
  });

  /** Answers a head that the parser refuses. If the head can still be read, it is first read to its end: a later field may be wrong too. */
  function refuseHead(socket: Socket, head: HeadSoFar, code: string): void {
    const read = head === null || code === late ? null : readRefused(head, socket);
    if (read === 'more' && code !== overflow && code !== ended) {
      readOn(socket, head!);
      return;
    }
    refused.set(socket, ignore);
    afterAnswers(socket, () => {
      if (read !== null && read !== 'more') return answerOn(socket, read, onHead);
      const answer = answerTo(code, head);
      const request = unread(socket, beginOf(head ?? '')?.method);
      answerOn(socket, request, (_, response) => send(response, mayBeHead(head) ? withoutBody(answer) : answer));
    });
  }

  /** Waits for the rest of a head. The time limit is the one of every other head: node:http enforces it. */
  function readOn(socket: Socket, begin: string): void {
    const pieces = [begin];
    let bytes = begin.length;
    let tail = begin;
    const goOn = ({ code, rawPacket }: ParseError): void => {
      const piece = rawPacket?.toString('latin1') ?? '';
      pieces.push(piece);
      bytes += piece.length;
      tail = tail.slice(-3) + piece;
      if (code === late || tail.includes('\r\n\r\n')) refuseHead(socket, pieces.join(''), code);
      else if (bytes > parsedHeadBytesMax) refuseHead(socket, pieces.join(''), overflow);
    };
    refused.set(socket, goOn);
    // node:http closes its side on `end`, so the answer must go out before.
    socket.prependOnceListener('end', () => {
      if (refused.get(socket) === goOn) refuseHead(socket, pieces.join(''), ended);
    });
  }

  server.on('connect', (request, socket) =>
    afterAnswers(socket as Socket, () => answerOn(socket as Socket, request, onHead)),
  );
  // A server may ignore expectations that it does not know (RFC 9110 §10.1.1).
  server.on('checkExpectation', onRequest);
  return server;
}

function answerTo(code: string, head: HeadSoFar): Answer {
  if (code === late) return refuse.requestTimeout();
  if (code !== overflow) return refuse.malformed();
  return (beginOf(head ?? '')?.target.length ?? 0) > targetBytesMax ? refuse.targetTooLong() : refuse.headersTooLarge();
}

/** Whether the request may be a HEAD, whose answer must have no body, but too little of it is known to tell. */
const mayBeHead = (head: HeadSoFar): boolean => head === null || (head !== '' && 'HEAD'.startsWith(head));

function withoutBody({ status, headers }: Answer): Answer {
  const { 'Content-Type': _, ...others } = headers;
  return { status, headers: others, body: null };
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
