import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

interface Piped {
  /** What the connection is for: told by the first command that only one of them sends. */
  kind: 'tracker' | 'data';
  client: Socket;
  server: Socket;
  isStalled: boolean;
}

/** Writes in order, each after a delay of its own. Timers alone do not keep the order where the process is late. */
function lateWriter(to: Socket, delayMs: () => number): (bytes: Buffer) => void {
  let written = Promise.resolve();
  return (bytes) => {
    const ms = delayMs();
    const due = ms > 0 ? sleep(ms) : null;
    written = written
      .then(() => due)
      .then(() => {
        if (to.writable) to.write(bytes);
      });
  };
}

/**
 * A TCP proxy before a Redis, which can be slow, or stop forwarding without closing: what a half-open connection looks
 * like from both ends.
 */
export async function stallingProxy(redisUrl: string) {
  let target = new URL(redisUrl);
  const all = new Set<Piped>();
  let slowMs = 0;
  let isCutting = false;
  const delayMs = () => Math.random() * slowMs;
  const listener = createServer((client) => {
    const server = connect(Number(target.port || 6379), target.hostname);
    const piped: Piped = { kind: 'data', client, server, isStalled: false };
    all.add(piped);
    const [toServer, toClient] = [lateWriter(server, delayMs), lateWriter(client, delayMs)];
    client.on('data', (bytes) => {
      if (bytes.includes('TRACKING')) piped.kind = 'tracker';
      if (!piped.isStalled) toServer(bytes);
    });
    server.on('data', (bytes) => {
      if (piped.isStalled) return;
      if (isCutting && piped.kind === 'data') client.end(bytes.subarray(0, bytes.length >> 1));
      else toClient(bytes);
    });
    const end = (): void => {
      all.delete(piped);
      client.destroy();
      server.destroy();
    };
    for (const socket of [client, server]) socket.on('error', end).on('close', end);
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const address = listener.address() as { port: number };
  return {
    url: `redis://127.0.0.1:${address.port}`,
    /** The connections there are stay open and carry nothing any more, either way; new ones are well. */
    stall(kind: Piped['kind']): void {
      for (const piped of all) if (piped.kind === kind) piped.isStalled = true;
    },
    /** From now on bytes take up to so long, either way. */
    slow(ms: number): void {
      slowMs = ms;
    },
    /** While it does, a connection is closed in the middle of the first reply that comes by it. */
    cutReplies(cuts: boolean): void {
      isCutting = cuts;
    },
    /** From now on it stands before another Redis. The connections there are are closed. */
    retarget(url: string): void {
      target = new URL(url);
      for (const { client } of all) client.destroy();
    },
    async close(): Promise<void> {
      for (const { client } of all) client.destroy();
      await new Promise((resolve) => listener.close(resolve));
    },
  };
}

export type StallingProxy = Awaited<ReturnType<typeof stallingProxy>>;
