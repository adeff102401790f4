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

const connections = 64;

export async function prepareLoad({ port, requests, unheardOf, status }: LoadTarget) {
  const prepared: { target: Buffer; rest: Buffer; answerBytes: number; bodyBytes: number }[] = [];
  for (const { path, headers } of requests) {
    const lines = Object.entries({ Host: `127.0.0.1:${port}`, ...headers }).map(([name, value]) => `${name}: ${value}`);
    const rest = Buffer.from(` HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
    // With `unheardOf`, a number belongs between the two.
    const target = Buffer.from(`GET ${path}${unheardOf ? '&n=' : ''}`);
    prepared.push({ target, rest, ...(await learn(port, Buffer.concat([target, rest]), status, path)) });
  }
  let number = 0;
  return {
    bodySizes: prepared.map(({ bodyBytes }) => bodyBytes),
    /** Asks for some milliseconds, and says how many answers came. */
    async run(ms: number): Promise<number> {
      const untilMs = performance.now() + ms;
      let answers = 0;
      // Opened for each run: a server closes connections that nothing comes on for long, as between turns.
      const sockets = await Promise.all(Array.from({ length: connections }, () => open(port)));
      const ended = sockets.map((socket, i) => {
        const { promise, resolve, reject } = Promise.withResolvers<void>();
        let next = i % prepared.length;
        let left = 0;
        const ask = (): void => {
          const { target, rest, answerBytes } = prepared[next]!;
          next = (next + 1) % prepared.length;
          left = answerBytes;
          socket.write(Buffer.concat([target, Buffer.from(unheardOf ? String(number++) : ''), rest]));
        };
        socket.on('data', (chunk) => {
          left -= chunk.length;
          if (left > 0) return;
          if (left < 0) return reject(new Error(`Cannot measure port ${port}: an answer's length has changed`));
          answers += 1;
          if (performance.now() < untilMs) ask();
          else resolve();
        });
        socket.on('close', () => reject(new Error(`Cannot measure port ${port}: it closed a connection`)));
        ask();
        return promise;
      });
      await Promise.all(ended);
      for (const socket of sockets) socket.destroy();
      return answers;
    },
  };
}

function open(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true }, () => resolve(socket));
    socket.once('error', reject);
  });
}

async function learn(port: number, request: Buffer, status: number, path: string) {
  const socket = await open(port);
  socket.write(request);
  let text = '';
  for await (const chunk of socket) {
    text += (chunk as Buffer).toString('latin1');
    const headEnd = text.indexOf('\r\n\r\n');
    if (headEnd < 0) continue;
    if (!text.startsWith(`HTTP/1.1 ${status} `))
      throw new Error(`Cannot measure ${path}: it answers ${text.slice(0, text.indexOf('\r'))}, want ${status}`);
    const bodyBytes = Number(/^content-length: (\d+)/im.exec(text.slice(0, headEnd))?.[1] ?? 0);
    const answerBytes = headEnd + 4 + bodyBytes;
    if (text.length >= answerBytes) return { answerBytes, bodyBytes };
  }
  throw new Error(`Cannot measure ${path}: it answers nothing`);
}
