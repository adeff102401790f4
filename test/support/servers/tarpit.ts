import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';

/** A server that takes connections and never answers: what any frozen server looks like from outside. */
interface Tarpit {
  /** `127.0.0.1:<port>` */
  address: string;
  /** Resolves once somebody is connected. */
  caught: Promise<void>;
  close(): void;
}

export async function tarpit(): Promise<Tarpit> {
  const sockets = new Set<Socket>();
  let hear = (): void => {};
  const caught = new Promise<void>((resolve) => {
    hear = resolve;
  });
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined));
    hear();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    address: `127.0.0.1:${(server.address() as { port: number }).port}`,
    caught,
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
