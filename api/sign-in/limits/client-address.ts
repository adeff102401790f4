import { AsyncLocalStorage } from 'node:async_hooks';
import { isIP, isIPv4, isIPv6 } from 'node:net';
import type { FastifyBaseLogger, FastifyInstance } from 'fastify';

const addresses = new AsyncLocalStorage<string>();

/** Makes a request's client address available to everything that is done on its behalf, also inside oidc-provider. */
export function keepClientAddress(app: FastifyInstance): void {
  app.addHook('onRequest', ({ ip, socket }, _reply, done) =>
    addresses.run(addressIn(ip) ?? socket.remoteAddress ?? ip, done),
  );
}

/**
 * The client address of the request that is being answered, as far as proxies are trusted; where they forward what is no
 * address, that of the connection. Undefined outside of any request.
 */
export const clientAddress = (): string | undefined => addresses.getStore();

/**
 * Warns once if requests come through a proxy that TRUST_PROXY does not name: all riders behind it share one address's
 * limits. Used where BASE_URL is https, because then there must be a proxy: this service itself speaks http.
 */
export function warnOfUnnamedProxy(app: FastifyInstance, log: FastifyBaseLogger): void {
  let told = false;
  app.addHook('onRequest', (request, _reply, done) => {
    if (!told && request.headers['x-forwarded-for'] !== undefined) {
      told = true;
      log.warn(
        'Requests come with X-Forwarded-For, but TRUST_PROXY is not set: sign-in’s limits take all riders behind the proxy for one, so one of them can keep the others from signing in; set TRUST_PROXY to the proxy’s addresses',
      );
    }
    done();
  });
}

/** An address without the port that some proxies write beside it: `192.0.2.7:1000`, `[2001:db8::1]:5`. Null: it is none. */
export function addressIn(text: string): string | null {
  const [, bracketed, bare] = /^(?:\[(.+)\]|([^:]+))(?::\d+)?$/.exec(text) ?? [];
  const address = bracketed ?? bare ?? text;
  return isIP(address) === 0 ? null : address;
}

/**
 * What a limit counts by: an IPv4 address, or the /48 of an IPv6 address, since one subscriber may have a whole /48. An
 * IPv4 address mapped into IPv6 counts as itself. For example `2001:db8::1` gives `2001:db8:0::/48`.
 */
export function networkOf(address: string): string {
  const [bare] = address.split('%') as [string];
  const mapped = bare.replace(/^::ffff:/i, '');
  if (!isIPv6(bare) || isIPv4(mapped)) return mapped;
  // Spelled in one way: without an IPv4 part, and with `::` for the longest row of zeros.
  const [before, after] = new URL(`http://[${bare}]`).hostname.slice(1, -1).split('::') as [string, string?];
  const [first, last] = [before, after].map((groups) => (groups ? groups.split(':') : []));
  const zeros = after === undefined ? [] : new Array<string>(8 - first!.length - last!.length).fill('0');
  return `${[...first!, ...zeros, ...last!].slice(0, 3).join(':')}::/48`;
}
