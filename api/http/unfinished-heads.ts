import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import { type BodyEnd, bodyEnd } from './body-end.ts';

/** A request's head so far, as latin1 text; null where its beginning is not known. */
export type HeadSoFar = string | null;

/**
 * The part of node:http's parser that is used here. Node does not document it. The parser reads packets from the socket
 * without JavaScript and calls these two hooks, so this costs a read nothing that can be measured. The documented way, a
 * `data` listener on the socket, sends every packet through JavaScript and costs 15 % of a read. If a version of Node has
 * no such hooks, earlier packets are unknown and these refusals have no body.
 */
interface Parser {
  getCurrentBuffer(): Buffer;
  constructor: { kOnMessageBegin?: number; kOnExecute?: number };
  [hook: number]: unknown;
}

interface State {
  /** The packets of a head that is not whole yet; null if there is none. The packet in hand is not among them. */
  packets: Buffer[] | null;
  /** Where a request begins: an index into the first of these packets or, if there is none, into the one in hand. */
  from: number;
  /** How many heads without a body came since then. They are skipped only when it matters, so that a read costs nothing. */
  heads: number;
  /** A body after which `from` is to be set. */
  body: BodyEnd | null;
  /** Where the body goes on in the packet in hand. Null: it has been looked for in there. */
  bodyAt: number | null;
}

// A head of 48 kB can come byte by byte, and each Buffer costs some 200 bytes more than it holds.
const packetsMax = 64;

const joined = (packets: Buffer[], packet: Buffer): Buffer[] =>
  packets.length < packetsMax ? [...packets, packet] : [Buffer.concat([...packets, packet])];

/** Keeps the packets of each head that is not whole yet, so that a refusal does not depend on how the head was cut. */
export function unfinishedHeads(server: Server) {
  const states = new WeakMap<Socket, { state: State; parser: Parser }>();

  server.on('connection', (socket: Socket) => {
    const { parser } = socket as unknown as { parser?: Parser };
    const { kOnMessageBegin, kOnExecute } = parser?.constructor ?? {};
    if (!parser || kOnMessageBegin === undefined || kOnExecute === undefined) return;
    const executed = parser[kOnExecute];
    if (typeof executed !== 'function') return;
    const state: State = { packets: null, from: 0, heads: 0, body: null, bodyAt: null };
    states.set(socket, { state, parser });
    parser[kOnMessageBegin] = () => {
      state.packets = [];
    };
    // After each packet.
    parser[kOnExecute] = (result: unknown) => {
      executed(result);
      if (state.body !== null || state.packets !== null) endPacket(state, parser.getCurrentBuffer());
      else startPacket(state);
    };
  });

  return {
    /** A request's head has arrived whole. `withBody`: the request, if it has a body. */
    done(socket: Socket, withBody: IncomingMessage | null): void {
      const { state, parser } = states.get(socket) ?? {};
      if (!state || !parser) return;
      if (withBody !== null || state.packets?.length) passHead(state, parser.getCurrentBuffer(), withBody);
      else state.heads++;
      state.packets = null;
    },
    /** The head that the parser is reading, as far as it has come. `packet` is the one that the parser failed in, if any. */
    of(socket: Socket, packet: Buffer | undefined): HeadSoFar {
      const { state } = states.get(socket) ?? {};
      if (!state) return null;
      if (packet) passBody(state, packet);
      const kept = state.packets ?? [];
      const text = Buffer.concat(packet ? [...kept, packet] : kept).toString('latin1');
      const begin = afterHeads(text, state.from, state.heads);
      return begin === null ? null : text.slice(begin);
    },
    /** The parser has failed for good: keeps nothing more of this socket. */
    forget(socket: Socket): void {
      states.delete(socket);
    },
  };
}

function startPacket(state: State): void {
  state.from = 0;
  state.heads = 0;
}

function endPacket(state: State, packet: Buffer): void {
  passBody(state, packet);
  if (state.packets !== null) state.packets = joined(state.packets, packet);
  else startPacket(state);
  state.bodyAt = 0;
}

/** A head has ended in this packet, and either began in an earlier one or is followed by a body. */
function passHead(state: State, packet: Buffer, withBody: IncomingMessage | null): void {
  passBody(state, packet);
  const kept = state.packets ?? [];
  const text = Buffer.concat([...kept, packet]).toString('latin1');
  const earlier = text.length - packet.length;
  // The parser has read all of these heads, so their ends are there.
  state.from = afterHeads(text, state.from, state.heads + 1)! - earlier;
  state.heads = 0;
  state.body = withBody && bodyEnd(withBody.headers);
  state.bodyAt = state.from;
}

/** If the body ends in this packet, the next request begins there. */
function passBody(state: State, packet: Buffer): void {
  if (state.body === null || state.bodyAt === null) return;
  const end = state.body.in(packet, state.bodyAt);
  state.bodyAt = null;
  if (end === null) return;
  state.from = end;
  state.body = null;
}

/** Skips whole heads without a body, and the empty lines that a server ignores before a request (RFC 9112 §2.2). */
function afterHeads(text: string, from: number, heads: number): number | null {
  let at = afterEmptyLines(text, from);
  for (let skipped = 0; skipped < heads; skipped++) {
    const end = text.indexOf('\r\n\r\n', at);
    if (end === -1) return null;
    at = afterEmptyLines(text, end + 4);
  }
  return at;
}

function afterEmptyLines(text: string, from: number): number {
  let at = from;
  while (text[at] === '\r' || text[at] === '\n') at++;
  return at;
}
