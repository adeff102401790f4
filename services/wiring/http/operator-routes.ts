import type { FastifyInstance } from 'fastify';
import type { Registry } from 'prom-client';
import { corsHeaders } from '../../../api/http/answer.ts';

const headers = { ...corsHeaders, 'Cache-Control': 'no-store' };

/** `note`: what the operator should know although the process is ready. */
export type Readiness = () => Promise<{ ready: true; note?: string } | { ready: false; reason: string }>;

/** /healthz (the process runs), /readyz (it can do its work) and /metrics, for operators. */
export function registerOperatorRoutes(app: FastifyInstance, register: Registry, readiness: Readiness): void {
  app.get('/healthz', (_request, reply) => reply.headers(headers).send({ status: 'ok' }));
  app.get('/readyz', async (_request, reply) => {
    const state = await readiness();
    reply.headers(headers);
    if (!state.ready) return reply.code(503).send({ status: 'not ready', reason: state.reason });
    return { status: 'ready', ...(state.note !== undefined && { note: state.note }) };
  });
  app.get('/metrics', async (_request, reply) =>
    reply.headers({ ...headers, 'Content-Type': register.contentType }).send(await register.metrics()),
  );
}
