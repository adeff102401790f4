import { createSocket } from 'node:dgram';
import { isIPv4 } from 'node:net';

export interface DnsServer {
  /** `address:port`, as node:dns takes it. */
  address: string;
  /** Names asked for, one for each question that came. */
  asked: string[];
  close(): void;
}

/** A DNS server that knows some names' IPv4 addresses. Others are not there, and those in `.silent` are never answered. */
export async function startDnsServer(known: Record<string, string[]> = {}): Promise<DnsServer> {
  const socket = createSocket('udp4');
  const asked: string[] = [];
  socket.on('message', (query, { address, port }) => {
    const { name, type, question } = questionOf(query);
    asked.push(name);
    if (name.endsWith('.silent')) return;
    const found = type === 1 ? (known[name] ?? []).filter((each) => isIPv4(each)) : [];
    const header = Buffer.from(query.subarray(0, 12));
    // An answer, that recursion is available, and that the name is there or not (RFC 1035, 4.1.1).
    header.writeUInt16BE(known[name] ? 0x8180 : 0x8183, 2);
    header.writeUInt16BE(1, 4);
    header.writeUInt16BE(found.length, 6);
    header.writeUInt32BE(0, 8);
    socket.send(Buffer.concat([header, question, ...found.map(recordOf)]), port, address);
  });
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  return { address: `127.0.0.1:${socket.address().port}`, asked, close: () => socket.close() };
}

function questionOf(query: Buffer): { name: string; type: number; question: Buffer } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at]!; length > 0; length = query[at]!) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return {
    name: labels.join('.').toLowerCase(),
    type: query.readUInt16BE(at + 1),
    question: query.subarray(12, at + 5),
  };
}

/** An A record of the question's name, by a pointer to it, for a minute. */
function recordOf(address: string): Buffer {
  return Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, ...address.split('.').map(Number)]);
}
