import { connect } from 'node:net';

/** HTTP as bytes: requests that no client library would send, and answers that none has touched. */

export interface RawAnswer {
  status: number;
  /** The status line's words after the status. */
  reason: string;
  /** As they came, in order. */
  lines: [name: string, value: string][];
  /** By lower-case name; several lines of a name are joined with `, `. */
  headers: Record<string, string>;
  body: Buffer;
}

export interface Conversation {
  /** Every answer that came, interim ones too. */
  answers: RawAnswer[];
  /** Whether the server closed the connection, or reset it. */
  closed: boolean;
  /** What came after the last whole answer. */
  rest: Buffer;
}

export interface ConversationOptions {
  /** Methods of the requests in order, since the answers to HEAD have no body. Read off the request where left out. */
  methods?: readonly string[];
  /** Stop waiting once that many final answers have come. Default 1; the connection's end stops it too. */
  answers?: number;
  timeoutMs?: number;
  /** More requests for the same connection, each sent once the one before is answered. */
  later?: readonly (string | Buffer)[];
}

/** On a busy machine a promised end may be late. */
const closeMsMax = 5_000;

/** Sends bytes to a port of this machine (text as latin1) and reads what comes back. */
export function converse(
  port: number,
  request: string | Buffer,
  options: ConversationOptions = {},
): Promise<Conversation> {
  const { timeoutMs = 10_000, later = [], answers: answersMax = 1 + later.length } = options;
  const pieces = [request, ...later].map((piece) => (typeof piece === 'string' ? Buffer.from(piece, 'latin1') : piece));
  const methods = options.methods ?? pieces.map((piece) => /^\S*/.exec(piece.toString('latin1'))![0]);
  return new Promise((resolve, reject) => {
    let received = Buffer.alloc(0);
    let sent = 0;
    const socket = connect({ port, host: '127.0.0.1' });
    const send = (): void => {
      socket.write(pieces[sent++]!);
    };
    const end = (closed: boolean): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(parse(received, methods, closed));
    };
    const timer = setTimeout(() => {
      socket.destroy();
      reject(new Error(`no answer within ${timeoutMs} ms; so far: ${received.toString('latin1').slice(0, 500)}`));
    }, timeoutMs);
    socket.on('connect', send);
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk]);
      const { answers } = parse(received, methods, false);
      const count = answers.filter(({ status }) => status >= 200).length;
      if (count >= answersMax) {
        // A moment longer: whether the server closes, as it may have promised, or sends more than it should.
        const closes = answers.at(-1)?.headers.connection === 'close';
        setTimeout(end, closes ? closeMsMax : 15, false);
      } else if (sent < pieces.length && count >= sent) send();
    });
    socket.on('end', () => end(true));
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') reject(error);
      else end(true);
    });
  });
}

/** The one answer to one request. */
export async function exchange(
  port: number,
  request: string | Buffer,
  options: ConversationOptions = {},
): Promise<RawAnswer> {
  const { answers, rest } = await converse(port, request, options);
  if (answers.length !== 1 || rest.length > 0)
    throw new Error(`Cannot read one answer: ${answers.length} came, then ${rest.toString('latin1').slice(0, 200)}`);
  return answers[0]!;
}

function parse(bytes: Buffer, methods: readonly string[], closed: boolean): Conversation {
  const answers: RawAnswer[] = [];
  let rest = bytes;
  let place = 0;
  for (;;) {
    const end = rest.indexOf('\r\n\r\n');
    if (end === -1) break;
    const [statusLine = '', ...headerLines] = rest.toString('latin1', 0, end).split('\r\n');
    const [, status, reason] = /^HTTP\/\d\.\d (\d{3}) ?(.*)$/.exec(statusLine) ?? [];
    if (status === undefined) break;
    const lines = headerLines.map((line): [string, string] => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon), line.slice(colon + 1).trim()];
    });
    const headers: Record<string, string> = {};
    for (const [name, value] of lines) {
      const lower = name.toLowerCase();
      headers[lower] = lower in headers ? `${headers[lower]}, ${value}` : value;
    }
    const bodyless = methods[place] === 'HEAD' || status.startsWith('1') || status === '204' || status === '304';
    const length = bodyless ? 0 : bodyLength(headers, rest.subarray(end + 4), closed);
    if (length === null || rest.length < end + 4 + length) break;
    const body = rest.subarray(end + 4, end + 4 + length);
    answers.push({ status: Number(status), reason: reason!, lines, headers, body });
    rest = rest.subarray(end + 4 + length);
    if (!status.startsWith('1')) place += 1;
  }
  return { answers, rest, closed };
}

/** Null while it is not known. */
function bodyLength(headers: Record<string, string>, after: Buffer, closed: boolean): number | null {
  if (headers['content-length'] !== undefined) return Number(headers['content-length']);
  if (headers['transfer-encoding'] === 'chunked') {
    const last = after.indexOf('0\r\n\r\n');
    return last === -1 ? null : last + 5;
  }
  return closed ? after.length : null;
}
