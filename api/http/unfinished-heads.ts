import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';

/** A request's head so far, as latin1 text; null where its beginning is not known. */
export type HeadSoFar = string | null;

/** Keeps the packets of each head that is not whole yet, so that a refusal does not depend on how the head was cut. */
export interface UnfinishedHeads {
  /** A request's head has arrived whole. */
  done(socket: Socket, withBody: IncomingMessage | null): void;
  /** The head that the parser is reading, as far as it has come. `packet` is the one that the parser failed in, if any; `failedAt` is the byte there. */
  of(socket: Socket, packet: Buffer | undefined, failedAt: number): HeadSoFar;
  /** The parser has failed for good: keeps nothing more of this socket. */
  forget(socket: Socket): void;
}

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
  /** The packets of a head that is not whole yet; null if there is none. */
  packets: Buffer[] | null;
  /** The first packet also holds the end of the request before. */
  mixed: boolean;
  /** The request before, if it has a body. */
  before: IncomingMessage | null;
}

// A head of 48 kB can come byte by byte, and each Buffer costs some 200 bytes more than it holds.
const packetsMax = 64;

const joined = (packets: Buffer[], packet: Buffer): Buffer[] =>
  packets.length < packetsMax ? [...packets, packet] : [Buffer.concat([...packets, packet])];

export function unfinishedHeads(server: Server): UnfinishedHeads {
  const states = new WeakMap<Socket, State>();

  server.on('connection', (socket: Socket) => {
    const { parser } = socket as unknown as { parser?: Parser };
    const { kOnMessageBegin, kOnExecute } = parser?.constructor ?? {};
    if (!parser || kOnMessageBegin === undefined || kOnExecute === undefined) return;
    const executed = parser[kOnExecute];
    if (typeof executed !== 'function') return;
    const state: State = { packets: null, mixed: false, before: null };
    states.set(socket, state);
    parser[kOnMessageBegin] = () => {
      state.packets = [];
    };
    // After each packet.
    parser[kOnExecute] = (result: unknown) => {
      executed(result);
      if (state.packets !== null) state.packets = joined(state.packets, parser.getCurrentBuffer());
      else state.mixed = state.before !== null && !state.before.complete;
    };
  });

  return {
    done(socket, withBody) {
      const state = states.get(socket);
      if (!state) return;
      state.packets = null;
      state.mixed = true;
      state.before = withBody;
    },
    of(socket, packet, failedAt) {
      const state = states.get(socket);
      if (!state) return null;
      const kept = state.packets ?? [];
      const text = Buffer.concat(packet ? [...kept, packet] : kept).toString('latin1');
      // A server ignores empty lines before a request (RFC 9112 §2.2).
      if (!state.mixed) return text.replace(/^[\r\n]+/, '');
      // Only the parser knew where the body of the request before ends.
      if (state.before !== null) return null;
      const end = text.lastIndexOf('\r\n\r\n', kept[0]?.length ?? failedAt - 1);
      return end === -1 ? null : text.slice(end + 4).replace(/^[\r\n]+/, '');
    },
    forget(socket) {
      states.delete(socket);
    },
  };
}
