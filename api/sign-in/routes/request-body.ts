import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { SignInParts } from './sign-in-parts.ts';

/** The largest legitimate body, a registration with ten redirect URIs, has about 4 kB. */
const bodyLimit = 16 * 1024;

/** Takes forms alone. */
export function takeForms(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers();
  const type = 'application/x-www-form-urlencoded';
  scope.addContentTypeParser(type, { parseAs: 'string', bodyLimit }, (_request, body, done) => done(null, body));
}

/** The body as a form. Empty if there is none. */
export const formOf = ({ body }: FastifyRequest): URLSearchParams => new URLSearchParams(body as string | undefined);

/** Takes JSON alone. */
export function takeJson(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers();
  const parser = scope.getDefaultJsonParser('ignore', 'ignore');
  scope.addContentTypeParser('application/json', { parseAs: 'string', bodyLimit }, parser);
}

/**
 * Refuses forms that come from elsewhere than our own pages. The browser says where from: by Sec-Fetch-Site, or Origin
 * in older ones. Programs send neither, and have no cookies of others.
 */
export function takeOwnForms(scope: FastifyInstance, { service, pages, audit }: SignInParts): void {
  const isOwn = ({ origin, 'sec-fetch-site': site }: IncomingHttpHeaders): boolean =>
    site === undefined ? origin === undefined || origin === service.origin : site === 'same-origin';

  scope.addHook('preHandler', async ({ method, headers }, reply) => {
    if (method !== 'POST' || isOwn(headers)) return;
    audit('form_refused');
    return pages.trouble(reply, 'forged');
  });
}
