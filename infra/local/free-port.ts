import { createSocket } from 'node:dgram';
import { createServer } from 'node:net';

/**
 * A TCP port on which nothing listens at 127.0.0.1. The port 10,000 higher is free too, because a Redis Cluster node also
 * takes that. The ports are random and below the range of outgoing connections. No port is given twice while the process that
 * was given it lives, by whatever process: between a server's runs nobody listens there, and it is not another's all the same.
 */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < 200; tries++) {
    const port = 20_000 + Math.floor(Math.random() * 10_000);
    if ((await reserve(port)) && (await isFree(port)) && (await isFree(port + 10_000))) return port;
  }
  throw new Error('Cannot find a free port at 127.0.0.1 between 20000 and 30000: close some servers');
}

export const freePorts = (count: number): Promise<number[]> => Promise.all(Array.from({ length: count }, freePort));

/** Takes the UDP port of this number, which no server here uses, till this process ends. */
const reserve = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const holder = createSocket('udp4').unref();
    holder.once('error', () => holder.close(() => resolve(false)));
    holder.bind({ port, address: '127.0.0.1', exclusive: true }, () => resolve(true));
  });

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
