import type { FastifyInstance } from 'fastify';

/**
 * Headers of answers that programs in browsers read. No cookies are sent there, so every origin is allowed
 * (docs/rules.md#cors).
 */
export const openCors: Record<string, string> = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': 'ETag, WWW-Authenticate, Retry-After',
};

/** Answers OPTIONS on a path. `allow` lists its methods. */
export function addOptions(app: FastifyInstance, path: string, allow: string): void {
  app.options(path, async (request, reply) => {
    reply.code(204).headers({ ...openCors, Allow: allow });
    if (request.headers['access-control-request-method'] !== undefined)
      reply.headers({
        'Access-Control-Allow-Methods': allow,
        // MCP clients send their protocol's version with all requests, also those for metadata.
        'Access-Control-Allow-Headers': 'Authorization, X-Api-Key, If-None-Match, Content-Type, MCP-Protocol-Version',
        'Access-Control-Max-Age': '3600',
      });
    return reply.send();
  });
}
