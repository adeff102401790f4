import { createServer } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Settings } from '../settings/settings.ts';

/**
 * Listens where the settings say. If the port is taken or the address is not this machine's, throws with what to do.
 */
export async function listen(app: FastifyInstance, { host, port }: Settings): Promise<void> {
  await app.listen({ host, port }).catch((cause) => refuse(host, port, cause));
}

/** Throws as `listen` would. For a server that has much to do before it listens. */
export async function assertCanListen({ host, port }: Settings): Promise<void> {
  const server = createServer();
  try {
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, host, resolve));
  } catch (cause) {
    refuse(host, port, cause as Error);
  }
  await new Promise((resolve) => server.close(resolve));
}

/** How long answers in progress may still take once the process must stop. */
const graceMs = 5_000;
const idleCheckMs = 50;

/**
 * Stops listening, and answers requests in progress. Closes connections that take longer than the grace period, such as
 * those of clients that do not read.
 */
export async function stopListening(app: FastifyInstance, withinMs = graceMs): Promise<void> {
  const timer = setTimeout(() => app.server.closeAllConnections(), withinMs);
  // Node closes idle connections when it stops listening, but keeps those whose last answer comes after that.
  const idle = setInterval(() => app.server.closeIdleConnections(), idleCheckMs);
  await app.close();
  clearInterval(idle);
  clearTimeout(timer);
}

function refuse(host: string, port: number, cause: NodeJS.ErrnoException): never {
  const { code } = cause;
  const fix =
    code === 'EADDRINUSE'
      ? 'the port is in use; stop what runs there, or set PORT to another'
      : code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND'
        ? "the address is not this machine's; set HOST"
        : code === 'EACCES'
          ? 'this user may not; set PORT to 1024 or above'
          : cause.message;
  throw new Error(`Cannot listen on ${host}:${port}: ${fix}`, { cause });
}
