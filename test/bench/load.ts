import { connect, type Socket } from 'node:net';

/**
 * A lean HTTP client for loopback: keep-alive connections, one request at a time on each. It takes an answer by its
 * length, which is learnt from its headers on the first exchange of each request, so that the client costs less than
 * any server; a status other than the one wanted, or a length that changes, is an error.
 */
export interface LoadTarget {
  port: number;
  /** Request targets with headers, asked in turn. */
  requests: readonly { path: string; headers?: Readonly<Record<string, string>> }[];
  /** Each request differs from all before, by a parameter that nobody reads: nothing can be remembered of it. */
  unheardOf?: boolean;
  status: number;
}

export const connections = 64;

interface Prepared {
  /** With `unheardOf`, a number belongs between the two. */
  bytes: Buffer;
  rest: Buffer;
  answerBytes: number;
  bodyBytes: number;
}

export interface PreparedLoad {
  /** Mean bytes of the bodies. */
  bodyBytes: number;
  bodySizes: number[];
  /** Asks for some milliseconds, and says how many answers came and in how many seconds. */
  run(ms: number): Promise<{ answers: number; seconds: number }>;
  close(): void;
}

export async function prepareLoad({ port, requests, unheardOf, status }: LoadTarget): Promise<PreparedLoad> {
  const prepared: Prepared[] = [];
  for (const { path, headers } of requests) {
    const lines = Object.entries({ Host: `127.0.0.1:${port}`, ...headers }).map(([name, value]) => `${name}: ${value}`);
    const rest = Buffer.from(` HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
    const target = Buffer.from(`GET ${path}${unheardOf ? '&n=' : ''}`);
    const learnt = await learn(port, Buffer.concat([target, rest]), status, path);
    prepared.push({ bytes: unheardOf ? target : Buffer.concat([target, rest]), rest, ...learnt });
  }
  let sockets: Socket[] = [];
  let running = false;
  let answers = 0;
  let number = 0;
  let busy = 0;
  let fault: Error | null = null;
  let idle = (): void => {};
  const use = (socket: Socket, i: number): void => {
    let next = i % prepared.length;
    let left = 0;
    const ask = (): void => {
      const request = prepared[next]!;
      next = (next + 1) % prepared.length;
      left = request.answerBytes;
      if (unheardOf) socket.write(Buffer.concat([request.bytes, Buffer.from(String(number++)), request.rest]));
      else socket.write(request.bytes);
    };
    socket.on('data', (chunk) => {
      left -= chunk.length;
      if (left > 0) return;
      if (left < 0) fault = new Error(`Cannot measure port ${port}: an answer's length has changed`);
      answers += 1;
      if (running && !fault) ask();
      else if (--busy === 0) idle();
    });
    socket.on('close', () => {
      fault ??= new Error(`Cannot measure port ${port}: it closed a connection`);
      idle();
    });
    socket.on('ask', ask);
  };
  const sizes = prepared.map(({ bodyBytes }) => bodyBytes);
  return {
    bodySizes: sizes,
    bodyBytes: sizes.reduce((sum, size) => sum + size, 0) / sizes.length,
    async run(ms) {
      // Opened for each run: a server closes connections that nothing comes on for long, as between turns.
      sockets = await Promise.all(Array.from({ length: connections }, () => open(port)));
      sockets.forEach(use);
      answers = 0;
      running = true;
      busy = sockets.length;
      const ended = new Promise<void>((resolve) => {
        idle = resolve;
      });
      const start = performance.now();
      for (const socket of sockets) socket.emit('ask');
      setTimeout(() => {
        running = false;
      }, ms);
      await ended;
      const seconds = (performance.now() - start) / 1000;
      for (const socket of sockets) socket.removeAllListeners('close').destroy();
      if (fault) throw fault;
      return { answers, seconds };
    },
    close: () => {
      for (const socket of sockets) socket.removeAllListeners('close').destroy();
    },
  };
}

function open(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true }, () => resolve(socket));
    socket.once('error', reject);
  });
}

async function learn(
  port: number,
  request: Buffer,
  status: number,
  path: string,
): Promise<{ answerBytes: number; bodyBytes: number }> {
  const socket = await open(port);
  try {
    return await new Promise((resolve, reject) => {
      let text = '';
      socket.on('error', reject);
      socket.on('data', (chunk) => {
        text += chunk.toString('latin1');
        const headEnd = text.indexOf('\r\n\r\n');
        if (headEnd < 0) return;
        if (!text.startsWith(`HTTP/1.1 ${status} `)) {
          reject(new Error(`Cannot measure ${path}: it answers ${text.slice(0, text.indexOf('\r'))}, want ${status}`));
          return;
        }
        const head = text.slice(0, headEnd);
        if (/^transfer-encoding: chunked/im.test(head)) {
          if (text.endsWith('\r\n0\r\n\r\n'))
            resolve({ answerBytes: text.length, bodyBytes: text.length - headEnd - 4 });
          return;
        }
        const bodyBytes = Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0);
        if (text.length >= headEnd + 4 + bodyBytes) resolve({ answerBytes: headEnd + 4 + bodyBytes, bodyBytes });
      });
      socket.write(request);
    });
  } finally {
    socket.destroy();
  }
}

/** The ETag of an answer that is not compressed: `fetch` would ask for gzip. */
export async function etagOf(port: number, path: string, headers: Record<string, string>): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    headers: { ...headers, 'Accept-Encoding': 'identity' },
  });
  await response.arrayBuffer();
  return response.headers.get('etag')!;
}
