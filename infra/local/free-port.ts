import { createServer } from 'node:net';

/**
 * `count` different TCP ports that nothing listens on at 127.0.0.1, nor on the port 10,000 higher, which a node of a
 * Redis Cluster takes too. Random ones below the range that connections out get theirs from, so that two processes
 * that ask at once hardly get the same.
 */
export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  for (let tries = 0; ports.size < count; tries++) {
    if (tries > 200)
      throw new Error('Cannot find a free port at 127.0.0.1 between 20000 and 30000: close some servers');
    const port = 20_000 + Math.floor(Math.random() * 10_000);
    if (!ports.has(port) && (await isFree(port)) && (await isFree(port + 10_000))) ports.add(port);
  }
  return [...ports];
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
}
