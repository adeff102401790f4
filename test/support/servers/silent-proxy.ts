import { connect, createServer, type Socket } from 'node:net';

/** What a silent connection still carries: nothing, what the client sends, or also the first half of the next reply. */
export type Carries = 'nothing' | 'commands' | 'half a reply';
/** How far a connection gets that is made during a silence: to its end, to TCP's part, or to the first reply. */
export type Gets = 'all' | 'connected' | 'one reply';
export type Ends = 'never' | 'FIN' | 'RST';

/** A TCP proxy before a Redis whose connections fall silent without a word, and end some time later or never. */
export async function silentProxy(redisUrl: string) {
  const target = new URL(redisUrl);
  const pairs = new Set<{ client: Socket; fallSilent(carries: Carries): void }>();
  let gets: Gets = 'all';
  const listener = createServer((client) => {
    const server = connect(Number(target.port || 6379), target.hostname);
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
    const fallSilent = (what: Carries): void => {
      carries = what;
    };
    const pair = { client, fallSilent };
    pairs.add(pair);
    const end = (): void => {
      pairs.delete(pair);
      client.destroy();
      server.destroy();
    };
    for (const socket of [client, server]) socket.on('error', end).on('close', end);
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const { port } = listener.address() as { port: number };
  return {
    url: `redis://127.0.0.1:${port}`,
    /** The connections there are carry only this from now on, and new ones get only so far. */
    fallSilent(carries: Carries, newOnes: Gets): void {
      gets = newOnes;
      for (const pair of pairs) pair.fallSilent(carries);
    },
    /** The connections there are end so. */
    end(how: Ends): void {
      for (const { client } of pairs) {
        if (how === 'FIN') client.end();
        if (how === 'RST') client.resetAndDestroy();
      }
    },
    /** New connections are well again. Those there are stay as they are. */
    speak(): void {
      gets = 'all';
    },
    async close(): Promise<void> {
      for (const { client } of pairs) client.destroy();
      await new Promise((resolve) => listener.close(resolve));
    },
  };
}
