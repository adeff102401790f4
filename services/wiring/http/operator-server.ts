import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { httpApp } from '../../../api/http/app.ts';
import type { Settings } from '../../settings/settings.ts';
import { listen, stopListening } from './listen.ts';
import { type Readiness, registerOperatorRoutes } from './operator-routes.ts';

export interface OperatorServer {
  listen(): Promise<void>;
  close(): Promise<void>;
}

/** The operators' routes: on a port of their own if METRICS_PORT is set, else on the service's. */
export function operatorServer(
  settings: Settings,
  app: FastifyInstance,
  register: Registry,
  readiness: Readiness,
  log: Logger,
): OperatorServer {
  if (settings.metricsPort === null) {
    registerOperatorRoutes(app, register, readiness);
    return { listen: async () => {}, close: async () => {} };
  }
  const own = operatorApp(register, readiness, log);
  const at = { ...settings, port: settings.metricsPort, portSetting: 'METRICS_PORT' };
  return { listen: () => listen(own, at), close: () => stopListening(own) };
}

/** A server that has only these routes. */
export function operatorApp(register: Registry, readiness: Readiness, log: Logger): FastifyInstance {
  const app = httpApp({ onFault: (cause) => log.error({ err: cause }, 'Cannot answer a request') });
  registerOperatorRoutes(app, register, readiness);
  return app;
}
