import { createServer } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { type Settings, SettingsError } from '../../settings/settings.ts';

type ListenAt = Pick<Settings, 'host' | 'port'> & { portSetting?: string };

/** Listens where the settings say. Throws what to do if the port is taken, SettingsError for a wrong HOST or PORT. */
export async function listen(app: FastifyInstance, at: ListenAt): Promise<void> {
  await app.listen({ host: at.host, port: at.port }).catch((cause) => refuse(at, cause));
}

/** Throws as `listen` would. For a server that has much to do before it listens. */
export async function assertCanListen(at: ListenAt): Promise<void> {
  const server = createServer();
  try {
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(at.port, at.host, resolve));
  } catch (cause) {
    refuse(at, cause as Error);
  }
  await new Promise((resolve) => server.close(resolve));
}

/** Where the operators' routes have a port of their own. Null: METRICS_PORT is not set. */
export const operatorsAt = ({ host, metricsPort }: Settings): ListenAt | null =>
  metricsPort === null ? null : { host, port: metricsPort, portSetting: 'METRICS_PORT' };

/** `assertCanListen` on all ports that the settings name. */
export async function assertCanListenOnAll(settings: Settings): Promise<void> {
  for (const at of [settings, operatorsAt(settings)]) if (at) await assertCanListen(at);
}

/** How long answers in progress may still take once the process must stop. */
const graceMs = 5_000;
const idleCheckMs = 50;

/** Stops listening, and answers requests in progress. Connections that take longer than the grace period are closed. */
export async function stopListening(app: FastifyInstance, withinMs = graceMs): Promise<void> {
  const timer = setTimeout(() => app.server.closeAllConnections(), withinMs);
  // Node closes idle connections when it stops listening, but keeps those whose last answer comes after that.
  const idle = setInterval(() => app.server.closeIdleConnections(), idleCheckMs);
  await app.close();
  clearInterval(idle);
  clearTimeout(timer);
}

function refuse({ host, port, portSetting = 'PORT' }: ListenAt, cause: NodeJS.ErrnoException): never {
  const { code } = cause;
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
    throw new SettingsError([
      `Cannot use setting HOST: got "${host}", want an address of this machine, such as 127.0.0.1`,
    ]);
  if (code === 'EACCES')
    throw new SettingsError([
      `Cannot use setting ${portSetting}: got ${port}, which this user may not listen on, want 1024 or above`,
    ]);
  const fix =
    code === 'EADDRINUSE'
      ? `the port is in use; stop what runs there, or set ${portSetting} to another`
      : cause.message;
  throw new Error(`Cannot listen on ${host}:${port}: ${fix}`, { cause });
}
