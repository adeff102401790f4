import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import type { Socket } from 'node:net';
import { type Answer, send } from '../messages/answer.ts';
import { type Problem, problems, refuse } from '../messages/refusals.ts';

/** How long a request may take to arrive, its body included, and how often that is checked. */
export interface Arrival {
  timeoutMs: number;
  checkEveryMs: number;
}

// The target and header fields together. Tokens and cookies fit easily.
const headBytesMax = 40 * 1024;
const keepAliveMs = 72_000;
/** How long a connection stays open after a refusal: closed at once, unread bytes would lose the client the refusal. */
const lingerMs = 1_000;

/**
 * The HTTP server of every answer. A request that node:http's parser refuses gets a problem with the headers that every
 * failure has (docs/rules.md#malformed-requests), instead of node:http's bare status line.
 */
export function edgeServer(listener: RequestListener, { timeoutMs, checkEveryMs }: Arrival): Server {
  const limits = { maxHeaderSize: headBytesMax, requestTimeout: timeoutMs, keepAliveTimeout: keepAliveMs };
  const server = createServer(
    // A request without a body is no stream to be read to its end: a twentieth of an answer.
    { ...limits, requireHostHeader: false, connectionsCheckingInterval: checkEveryMs, optimizeEmptyRequests: true },
    onRequest,
  );
  const latest = new WeakMap<object, ServerResponse>();

  function onRequest(request: IncomingMessage, response: ServerResponse): void {
    latest.set(request.socket, response);
    if (isMalformed(request)) send(response, refuse.failure(problems.malformed));
    else listener(request, response);
  }

  server.on('clientError', ({ code }: NodeJS.ErrnoException, socket) => {
    // After one failure the parser fails again on every packet.
    if (!socket.writable) return;
    const response = latest.get(socket);
    // The request is answered already, and its body was malformed. A second answer would be taken for the next request's.
    const isAnswered = response?.headersSent && !response.req.complete;
    endSoon(socket as Socket, isAnswered ? null : problemOf(code));
  });
  // This server is no proxy. node:http has no response object for CONNECT, and no longer listens for errors of its socket.
  server.on('connect', (_request, socket) => {
    socket.on('error', () => {}).resume();
    endSoon(socket as Socket, problems.methodNotAllowed);
  });
  // A server may ignore expectations that it does not know (RFC 9110 §10.1.1).
  server.on('checkExpectation', onRequest);
  return server;
}

function problemOf(code: string | undefined): Problem {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return problems.requestTimeout;
  return code === 'HPE_HEADER_OVERFLOW' ? problems.headersTooLarge : problems.malformed;
}

/** Ends a connection, with a failure that node:http has no response object for. */
function endSoon(socket: Socket, problem: Problem | null): void {
  socket.end(problem ? bytesOf(refuse.failure(problem)) : '');
  setTimeout(() => socket.destroy(), lingerMs).unref();
}

function bytesOf({ status, headers, body }: Answer): string {
  const date = new Date().toUTCString();
  const all = { ...headers, Connection: 'close', Date: date, 'Content-Length': String(body?.length ?? 0) };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body ?? ''}`;
}

// RFC 9110 §7.2: uri-host, and a port. The host of an http URI must not be empty (§4.2.1).
const host = /^(?:\[[\dA-Fa-f:.]+\]|(?:[\w.~!$&'()*+,;=-]|%[\dA-Fa-f]{2})+)(?::\d*)?$/;
const absoluteForm = /^[a-z][a-z0-9+.-]*:\/\/[^/?]*/i;

/**
 * Checks a request that node:http could parse, before anything reads its target (docs/rules.md#malformed-requests). A
 * target in absolute form, which every server must accept (RFC 9112 §3.2.2), is rewritten to origin form.
 */
function isMalformed(request: IncomingMessage): boolean {
  const { httpVersion, method, rawHeaders, url = '' } = request;
  // node:http also accepts HTTP/0.9 and HTTP/2.0 in a request line.
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return true;
  let hosts = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (rawHeaders[i]!.length !== 4 || rawHeaders[i]!.toLowerCase() !== 'host') continue;
    hosts += 1;
    if (hosts > 1 || !host.test(rawHeaders[i + 1]!)) return true;
  }
  // RFC 9112 §3.2. Only HTTP/1.1 requires Host.
  if (hosts === 0 && httpVersion === '1.1') return true;
  if (url.startsWith('/') || (url === '*' && method === 'OPTIONS')) return false;
  const authority = absoluteForm.exec(url)?.[0];
  if (authority === undefined) return true;
  const local = url.slice(authority.length);
  request.url = local.startsWith('/') ? local : `/${local}`;
  return false;
}
