import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { listening } from './listening.ts';

/** A TCP proxy before a Redis. `pipe` carries what a new connection sends, either way. */
async function redisProxy<Pair>(target: () => URL, pipe: (client: Socket, server: Socket) => Pair) {
  const pairs = new Map<Socket, Pair>();
  const listener = createServer((client) => {
    const { port, hostname } = target();
    const server = connect(Number(port || 6379), hostname);
    pairs.set(client, pipe(client, server));
    const end = (): void => {
      pairs.delete(client);
      client.destroy();
      server.destroy();
    };
    for (const socket of [client, server]) socket.on('error', end).on('close', end);
  });
  const { port, close: stopListening } = await listening(listener);
  const closeAll = (): void => {
    for (const client of pairs.keys()) client.destroy();
  };
  const close = (): void => {
    closeAll();
    stopListening();
  };
  return { url: `redis://127.0.0.1:${port}`, pairs, closeAll, close };
}

/** What a silent connection still carries: nothing, what the client sends, or also the first half of the next reply. */
export type Carries = 'nothing' | 'commands' | 'half a reply';
/** How far a connection gets that is made during a silence: to its end, to TCP's part, or to the first reply. */
export type Gets = 'all' | 'connected' | 'one reply';
export type Ends = 'never' | 'FIN' | 'RST';

/** Its connections fall silent without a word, and end some time later or never. */
export async function silentProxy(redisUrl: string) {
  let gets: Gets = 'all';
  const { url, pairs, close } = await redisProxy(
    () => new URL(redisUrl),
    (client, server) => {
      let carries: Carries | 'all' = gets === 'connected' ? 'nothing' : 'all';
      let left = gets === 'one reply' ? 1 : Number.POSITIVE_INFINITY;
      client.on('data', (bytes) => {
        if (carries !== 'nothing' && server.writable) server.write(bytes);
      });
      server.on('data', (bytes) => {
        const shown = carries === 'half a reply' ? bytes.subarray(0, bytes.length >> 1) : bytes;
        if (carries === 'half a reply') carries = 'commands';
        else if (carries !== 'all') return;
        // Its answer to the first of several commands, and not the others.
        if (left === 1) carries = 'commands';
        if (client.writable) client.write(left-- === 1 ? shown.subarray(0, '+OK\r\n'.length) : shown);
      });
      return (what: Carries): void => {
        carries = what;
      };
    },
  );
  return {
    url,
    close,
    /** The connections there are carry only this from now on, and new ones get only so far. */
    fallSilent(carries: Carries, newOnes: Gets): void {
      gets = newOnes;
      for (const fallSilent of pairs.values()) fallSilent(carries);
    },
    /** The connections there are end so. */
    end(how: Ends): void {
      for (const client of pairs.keys()) {
        if (how === 'FIN') client.end();
        if (how === 'RST') client.resetAndDestroy();
      }
    },
    /** New connections are well again. Those there are stay as they are. */
    speak(): void {
      gets = 'all';
    },
  };
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

/** It can be slow, or stop forwarding without closing: what a half-open connection looks like from both ends. */
export async function stallingProxy(redisUrl: string) {
  let target = new URL(redisUrl);
  let slowMs = 0;
  let isCutting = false;
  const delayMs = () => Math.random() * slowMs;
  const { url, pairs, closeAll, close } = await redisProxy(
    () => target,
    (client, server) => {
      // What the connection is for is told by the first command that only one of them sends.
      const piped = { kind: 'data' as 'tracker' | 'data', isStalled: false };
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
      return piped;
    },
  );
  return {
    url,
    close,
    /** The connections there are stay open and carry nothing any more, either way; new ones are well. */
    stall(kind: 'tracker' | 'data'): void {
      for (const piped of pairs.values()) if (piped.kind === kind) piped.isStalled = true;
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
    retarget(other: string): void {
      target = new URL(other);
      closeAll();
    },
  };
}

export type StallingProxy = Awaited<ReturnType<typeof stallingProxy>>;
