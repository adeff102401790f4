import { createServer } from 'node:net';

// Until its server has started, nobody listens at a port that was given. It must not be given again.
const tried = new Set<number>();

/**
 * A TCP port on which nothing listens at 127.0.0.1. The port 10,000 higher is free too, because a Redis Cluster node also
 * takes that. The ports are random and below the range of outgoing connections, so two processes that ask at once rarely get
 * the same. No port is given twice by one process.
 */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < 200; tries++) {
    const port = 20_000 + Math.floor(Math.random() * 10_000);
    if (tried.has(port)) continue;
    tried.add(port);
    if ((await isFree(port)) && (await isFree(port + 10_000))) return port;
  }
  throw new Error('Cannot find a free port at 127.0.0.1 between 20000 and 30000: close some servers');
}

export const freePorts = (count: number): Promise<number[]> => Promise.all(Array.from({ length: count }, freePort));

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
