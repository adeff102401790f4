import { createServer } from 'node:net';

// Until its server has started, nobody listens at a port that was given. It must not be given again.
const given = new Set<number>();

/**
 * Returns `count` different TCP ports on which nothing listens at 127.0.0.1. The port 10,000 higher is free too,
 * because a Redis Cluster node also takes that. The ports are random and below the range of outgoing connections, so
 * two processes that ask at once rarely get the same. No port is given twice by one process.
 */
export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  for (let tries = 0; ports.size < count; tries++) {
    if (tries > 200)
      throw new Error('Cannot find a free port at 127.0.0.1 between 20000 and 30000: close some servers');
    const port = 20_000 + Math.floor(Math.random() * 10_000);
    if (!given.has(port) && (await isFree(port)) && (await isFree(port + 10_000)) && !given.has(port)) {
      given.add(port);
      ports.add(port);
    }
  }
  return [...ports];
}

export const freePort = async (): Promise<number> => (await freePorts(1))[0]!;

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
