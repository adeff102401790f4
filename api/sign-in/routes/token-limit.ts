import type { FastifyRequest } from 'fastify';
import type { RateLimits } from '../limits/rate-limit.ts';
import type { SignInProvider } from '../provider/provider.ts';

/**
 * Limits refused requests at the token and revocation endpoints: guesses at codes, tokens and secrets.
 *
 * They are counted by address and client, so one client's guesses do not refuse another client. A live code or refresh
 * token is not a guess: it is accepted however many guesses came from its address or for its client. Behind a proxy
 * that TRUST_PROXY does not name, all riders have one address, and a stranger must not lock them out.
 */
export function tokenLimit({ failures }: RateLimits, provider: SignInProvider) {
  return {
    /** Seconds to wait, or null if the request may go on. */
    async wait(request: FastifyRequest, form: URLSearchParams): Promise<number | null> {
      const client = namedClient(request, form);
      const wait = await failures.full(request.ip, client);
      return wait !== null && (await provider.keeps(form, client)) ? null : wait;
    },
    /** A request was refused. */
    async refused(request: FastifyRequest, form: URLSearchParams): Promise<void> {
      await failures.hit(request.ip, namedClient(request, form));
    },
  };
}

/** The client that a request names, in its form or by HTTP Basic (RFC 6749, 2.3.1). Not authenticated. */
function namedClient({ headers }: FastifyRequest, form: URLSearchParams): string {
  const basic = /^Basic +([A-Za-z0-9+/=]+)$/i.exec(headers.authorization ?? '')?.[1];
  if (basic === undefined) return form.get('client_id') ?? '';
  const [user] = Buffer.from(basic, 'base64').toString().split(':');
  return new URLSearchParams(`id=${user!.replaceAll('&', '%26')}`).get('id') ?? '';
}
