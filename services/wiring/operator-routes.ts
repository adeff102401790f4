import type { FastifyInstance } from 'fastify';
import type { Registry } from 'prom-client';

/** `note`: what the operator should know although the process is ready. */
export type Readiness = () => Promise<{ ready: true; note?: string } | { ready: false; reason: string }>;

/** /healthz (the process runs), /readyz (it can do its work) and /metrics, for operators. */
export function registerOperatorRoutes(app: FastifyInstance, register: Registry, readiness: Readiness): void {
  app.get('/healthz', (_request, reply) => reply.header('Cache-Control', 'no-store').send({ status: 'ok' }));
  app.get('/readyz', async (_request, reply) => {
    const state = await readiness();
    reply.header('Cache-Control', 'no-store');
    if (!state.ready) return reply.code(503).send({ status: 'not ready', reason: state.reason });
    return { status: 'ready', ...(state.note !== undefined && { note: state.note }) };
  });
  app.get('/metrics', async (_request, reply) =>
    reply.header('Content-Type', register.contentType).send(await register.metrics()),
  );
}
