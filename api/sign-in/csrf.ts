import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/**
 * Protects the forms of our own pages. A form carries a token that only we can make for what it is bound to (an
 * interaction, a session), and its browser must say that it comes from our own pages.
 */
export interface Csrf {
  token(boundTo: string): string;
  /** Whether a browser says that it posts a form of our own page. */
  fromOwnPage(headers: IncomingHttpHeaders): boolean;
  /** Whether it does, and the form has the token of what it is bound to. */
  accepts(headers: IncomingHttpHeaders, token: string | null, boundTo: string): boolean;
}

/** `keys`: those of the cookies, newest first; a page made under an older one still posts. */
export function createCsrf(keys: readonly string[], origin: string): Csrf {
  const tokenBy = (key: string, boundTo: string): string =>
    createHmac('sha256', key).update(`form\0${boundTo}`).digest('base64url');
  return {
    token: (boundTo) => tokenBy(keys[0]!, boundTo),
    fromOwnPage: (headers) => fromOwnPage(headers, origin),
    accepts: (headers, token, boundTo) =>
      fromOwnPage(headers, origin) && token !== null && keys.some((key) => same(tokenBy(key, boundTo), token)),
  };
}

/** What browsers say of themselves: Sec-Fetch-Site, or before it Origin. Programs say neither, and have no cookies of others. */
function fromOwnPage(headers: IncomingHttpHeaders, origin: string): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin';
  return headers.origin === undefined || headers.origin === origin;
}

function same(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}
