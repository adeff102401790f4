import { createServer, type Socket } from 'node:net';
import { listening } from './listening.ts';

/** A server that takes connections and never answers: what any frozen server looks like from outside. */
export async function tarpit() {
  const sockets = new Set<Socket>();
  const { promise: caught, resolve: hear } = Promise.withResolvers<void>();
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined));
    hear();
  });
  const { port, close } = await listening(server);
  return {
    /** `127.0.0.1:<port>` */
    address: `127.0.0.1:${port}`,
    /** Resolves once somebody is connected. */
    caught,
    close(): void {
      for (const socket of sockets) socket.destroy();
      close();
    },
  };
}
