import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { FastifyInstance } from 'fastify';
import { corsHeaders } from '../http/answer.ts';
import { type DocsOptions, docsPage, redirectPage } from './docs-page.ts';

/** The API reference at /docs: Swagger UI, served from our own origin. It loads nothing from other hosts. */

const types: Record<string, string> = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  png: 'image/png',
};

const library = createRequire(import.meta.url);
const ofLibrary = (name: string): Buffer => readFileSync(library.resolve(`swagger-ui-dist/${name}`));
const ofOurs = (name: string): Buffer => readFileSync(new URL(`./docs/${name}`, import.meta.url));

function readAssets(): Map<string, Buffer> {
  const fromLibrary = ['swagger-ui.css', 'swagger-ui-bundle.js', 'oauth2-redirect.js', 'favicon-32x32.png'];
  const ours = ['reference.css', 'reference.js'];
  return new Map([
    ...fromLibrary.map((name) => [name, ofLibrary(name)] as const),
    ...ours.map((name) => [name, ofOurs(name)] as const),
  ]);
}

/**
 * Adds /docs and its files. The files' URLs contain a digest of their contents, so browsers may cache them forever. The
 * page itself is revalidated each time.
 */
export function registerDocs(app: FastifyInstance, options: DocsOptions): void {
  const assets = readAssets();
  const hash = createHash('sha256');
  for (const content of assets.values()) hash.update(content);
  const version = hash.digest('hex').slice(0, 12);
  const headers = pageHeaders(options.openapiUrl);

  const page = docsPage(options, `docs/${version}`);
  app.get('/', (_request, reply) => reply.headers(corsHeaders).redirect('docs'));
  app.get('/docs', (_request, reply) => reply.headers(headers).send(page));
  // Relative, so that it works behind a proxy that adds a path prefix.
  app.get('/docs/', (_request, reply) => reply.headers(corsHeaders).redirect('../docs', 308));
  const redirected = redirectPage(version);
  app.get('/docs/oauth2-redirect.html', (_request, reply) => reply.headers(headers).send(redirected));

  for (const [name, content] of assets) {
    const type = types[name.split('.').at(-1) ?? ''] ?? 'application/octet-stream';
    app.get(`/docs/${version}/${name}`, (_request, reply) =>
      reply
        .headers({
          ...corsHeaders,
          'content-type': type,
          'cache-control': 'public, max-age=31536000, immutable',
          'x-content-type-options': 'nosniff',
        })
        .send(content),
    );
  }
}

function pageHeaders(openapiUrl: string): Record<string, string> {
  // The interface may be called by another name of this host, such as localhost for 127.0.0.1.
  const api = URL.canParse(openapiUrl) ? ` ${new URL(openapiUrl).origin}` : '';
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    // Swagger UI sets styles on its elements, and draws its arrows from data URLs.
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    `connect-src 'self'${api}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ];
  return {
    ...corsHeaders,
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-cache',
    'content-security-policy': policy.join('; '),
    'x-content-type-options': 'nosniff',
    // The page's address contains the authorization code after sign-in.
    'referrer-policy': 'no-referrer',
  };
}
