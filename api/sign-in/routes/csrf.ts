import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyRequest } from 'fastify';
import type { AuditTrail } from '../../ports/audit-trail.ts';

/**
 * Protects the forms of our own pages. A form contains a token that only we can make, bound to an interaction or a
 * session, and the browser must say that the form comes from our own pages. `keys`: the cookie keys, newest first. A
 * page made with an older key can still post.
 */
export function createCsrf(keys: readonly string[], origin: string, audit: AuditTrail) {
  const tokenBy = (key: string, boundTo: string): string =>
    createHmac('sha256', key).update(`form\0${boundTo}`).digest('base64url');

  /**
   * Whether the browser says that it posts a form of our own page: by Sec-Fetch-Site, or Origin in older ones. Programs
   * send neither, and have no cookies of others.
   */
  const fromOwnPage = (headers: IncomingHttpHeaders): boolean => {
    const site = headers['sec-fetch-site'];
    if (site !== undefined) return site === 'same-origin';
    return headers.origin === undefined || headers.origin === origin;
  };

  return {
    token: (boundTo: string): string => tokenBy(keys[0]!, boundTo),
    /** Whether a form is from our own page, and has the token of what it is bound to. If not, the audit trail says so. */
    accepts({ headers }: FastifyRequest, form: URLSearchParams, boundTo: string): boolean {
      const token = form.get('csrf');
      if (fromOwnPage(headers) && token !== null && keys.some((key) => same(tokenBy(key, boundTo), token))) return true;
      audit('form_refused');
      return false;
    },
  };
}

export type Csrf = ReturnType<typeof createCsrf>;

function same(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}
