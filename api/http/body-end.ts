import type { IncomingHttpHeaders } from 'node:http';

/** Finds where a request's body ends, in the packets that it comes in. The parser has checked these bytes or will do so. */
export interface BodyEnd {
  /** The index behind the body in a packet in which it goes on from `at`. Null: the body goes on in the next packet. */
  in(packet: Buffer, at: number): number | null;
}

/** The body of a request with these fields (RFC 9112 §6). */
export function bodyEnd(headers: IncomingHttpHeaders): BodyEnd {
  return headers['transfer-encoding'] === undefined ? sizedBody(Number(headers['content-length'])) : chunkedBody();
}

function sizedBody(bytes: number): BodyEnd {
  let rest = bytes;
  return {
    in(packet, at) {
      const here = Math.min(rest, packet.length - at);
      rest -= here;
      return rest === 0 ? at + here : null;
    },
  };
}

/** `<size>[;extension] CRLF <data> CRLF`, and so on, until size 0; then trailer lines until an empty one. */
function chunkedBody(): BodyEnd {
  let line = '';
  /** What is left of a chunk's data and its CRLF. */
  let data = 0;
  let inTrailers = false;
  return {
    in(packet, begin) {
      let at = begin;
      while (at < packet.length) {
        const skipped = Math.min(data, packet.length - at);
        data -= skipped;
        at += skipped;
        const lineEnd = packet.indexOf('\n', at);
        line += packet.toString('latin1', at, lineEnd === -1 ? packet.length : lineEnd);
        if (lineEnd === -1) return null;
        at = lineEnd + 1;
        if (inTrailers && line === '\r') return at;
        const size = inTrailers ? 0 : chunkSize(line);
        inTrailers = size === 0;
        data = inTrailers ? 0 : size + 2;
        line = '';
      }
      return null;
    },
  };
}

/** Infinity, so that the body has no end, where the parser will refuse the line. */
function chunkSize(line: string): number {
  const [digits] = /^[\da-f]+/i.exec(line) ?? [];
  return digits === undefined ? Number.POSITIVE_INFINITY : Number.parseInt(digits, 16);
}
