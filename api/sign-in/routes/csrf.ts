import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/**
 * Protects the forms of our own pages. A form contains a token that only we can make, bound to an interaction or a
 * session, and the browser must say that the form comes from our own pages. `keys`: the cookie keys, newest first. A
 * page made with an older key can still post.
 */
export function createCsrf(keys: readonly string[], origin: string) {
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
    fromOwnPage,
    /** Whether it is from our own page, and has the token of what it is bound to. */
    accepts: (headers: IncomingHttpHeaders, token: string | null, boundTo: string): boolean =>
      fromOwnPage(headers) && token !== null && keys.some((key) => same(tokenBy(key, boundTo), token)),
  };
}

export type Csrf = ReturnType<typeof createCsrf>;

function same(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}
