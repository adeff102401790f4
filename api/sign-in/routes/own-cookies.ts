import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ServiceUrl } from '../../messages/service-url.ts';

/**
 * Cookies of our own, beside oidc-provider's. They last by duration, since the browser's clock is another. Cookies belong to
 * a host, not to a port, so their names have one.
 */
export function ownCookie({ https, origin }: ServiceUrl, name: string, shape: string) {
  const cookie = `${https ? '__Host-' : ''}ride_calendar_${new URL(origin).port}_${name}`;
  const pattern = new RegExp(`(?:^|;)\\s*${cookie}=(${shape})\\s*(?:;|$)`);
  return {
    /** What a request's browser has, if it has the shape of one of ours. */
    of: (request: FastifyRequest): string | undefined => pattern.exec(request.headers.cookie ?? '')?.[1],
    /** Gives it to the browser for this long. 0 takes it away. */
    set(reply: FastifyReply, value: string, seconds: number): void {
      const attributes = `Path=/; HttpOnly; SameSite=Lax; Max-Age=${seconds}${https ? '; Secure' : ''}`;
      reply.header('Set-Cookie', `${cookie}=${value}; ${attributes}`);
    },
  };
}

/** That this browser's rider signed out: whoever signs in next proves who they are (docs/rules.md#signing-out). */
export const signedOutCookie = (service: ServiceUrl) => ownCookie(service, 'signed_out', '1');

/** As long as browsers keep a cookie: the provider may know a rider longer than this service does. */
export const signedOutSeconds = 400 * 86_400;
