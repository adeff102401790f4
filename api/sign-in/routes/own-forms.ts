import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyInstance } from 'fastify';
import type { SignInParts } from './sign-in-parts.ts';

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
