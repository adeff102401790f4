import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { httpApp } from '../../../api/http/app.ts';
import { corsHeaders } from '../../../api/messages/answer.ts';
import type { Readiness } from './readiness.ts';

const headers = { ...corsHeaders, 'Cache-Control': 'no-store' };

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

export function operatorApp(register: Registry, readiness: Readiness, log: Logger): FastifyInstance {
  const app = httpApp({ onFault: (cause) => log.error({ err: cause }, 'Cannot answer a request') });
  registerOperatorRoutes(app, register, readiness);
  return app;
}
