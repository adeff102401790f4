import type { FastifyInstance } from 'fastify';

/**
 * Headers of every answer that programs in browsers read: no cookies go there, so every origin may
 * (docs/rules.md#cors).
 */
export const openCors: Record<string, string> = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': 'ETag, WWW-Authenticate, Retry-After',
};

/** Answers OPTIONS on a path; `allow` its methods. */
export function addOptions(app: FastifyInstance, path: string, allow: string): void {
  app.options(path, async (request, reply) => {
    reply.code(204).headers({ ...openCors, Allow: allow });
    if (request.headers['access-control-request-method'] !== undefined)
      reply.headers({
        'Access-Control-Allow-Methods': allow,
        // MCP clients send their protocol's version with all requests, metadata's too.
        'Access-Control-Allow-Headers': 'Authorization, X-Api-Key, If-None-Match, Content-Type, MCP-Protocol-Version',
        'Access-Control-Max-Age': '3600',
      });
    return reply.send();
  });
}
