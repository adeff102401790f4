import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';

/** Has a server listen at a free port of this machine until it is disposed of. */
export async function listening(server: Server & { closeAllConnections?(): void }) {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const close = (): void => {
    server.close();
    server.closeAllConnections?.();
  };
  return { port, url: `http://127.0.0.1:${port}`, close, [Symbol.dispose]: close };
}
