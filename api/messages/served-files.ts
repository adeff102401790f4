import type { FastifyInstance } from 'fastify';
import { digestOf } from '../../schemas/views/view-values.ts';
import { type Caching, ownOriginHeaders, send, success } from './answer.ts';
import { EncodedBody } from './encoded-body.ts';

/** The Content-Type of a file, by the ending of its name. */
export const fileTypes = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
  png: 'image/png',
  md: 'text/plain; charset=utf-8',
};

export const fileType = (name: string): string => fileTypes[name.split('.').at(-1) as keyof typeof fileTypes];

/**
 * Serves what lives as long as the process, so it is compressed for its first reader. It may hold a key, so pages of other
 * origins read none of it (docs/rules.md#cors).
 */
export function serveFile(app: FastifyInstance, path: string, content: Buffer, type: string, headers: Caching): void {
  const body = new EncodedBody(content, { lasting: true });
  const tag = digestOf(content);
  const caching = { ...headers, Vary: 'Accept-Encoding' };
  app.get(path, (request, reply) => {
    reply.hijack();
    send(
      reply.raw,
      success(tag, request.headers, caching, () => body, type, ownOriginHeaders),
    );
  });
}

/** Headers of a page that runs scripts of ours and asks the API. `rules`: what its content security policy has besides. */
export const appHeaders = (baseUrl: string, rules: readonly string[]): Caching => ({
  'Cache-Control': 'no-cache',
  'Content-Security-Policy': [
    "default-src 'none'",
    "script-src 'self'",
    // The interface may be called by another name of this host, such as localhost for 127.0.0.1.
    `connect-src 'self' ${new URL(baseUrl).origin}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    ...rules,
  ].join('; '),
  'X-Content-Type-Options': 'nosniff',
  // The page's address holds the authorization code after sign-in.
  'Referrer-Policy': 'no-referrer',
});
