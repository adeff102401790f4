import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';

/** A server that takes connections and never answers: what any frozen server looks like from outside. */
export async function tarpit() {
  const sockets = new Set<Socket>();
  const { promise: caught, resolve: hear } = Promise.withResolvers<void>();
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined));
    hear();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    /** `127.0.0.1:<port>` */
    address: `127.0.0.1:${(server.address() as { port: number }).port}`,
    /** Resolves once somebody is connected. */
    caught,
    close(): void {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
