import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/**
 * Protects the forms of our own pages. A form contains a token that only we can make, bound to an interaction or a
 * session, and the browser must say that the form comes from our own pages.
 */
export interface Csrf {
  token(boundTo: string): string;
  /** Whether the browser says that it posts a form of our own page. */
  fromOwnPage(headers: IncomingHttpHeaders): boolean;
  /** Whether it does, and the form has the token of what it is bound to. */
  accepts(headers: IncomingHttpHeaders, token: string | null, boundTo: string): boolean;
}

/** `keys`: the cookie keys, newest first. A page made with an older key can still post. */
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

/**
 * What browsers send about themselves: Sec-Fetch-Site, or Origin in older ones. Programs send neither, and have no
 * cookies of others.
 */
function fromOwnPage(headers: IncomingHttpHeaders, origin: string): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin';
  return headers.origin === undefined || headers.origin === origin;
}

function same(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}
