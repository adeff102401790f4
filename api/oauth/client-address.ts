import { AsyncLocalStorage } from 'node:async_hooks';
import { isIPv4, isIPv6 } from 'node:net';
import type { FastifyBaseLogger, FastifyInstance } from 'fastify';

const addresses = new AsyncLocalStorage<string>();

/** Makes a request's client address available to everything that is done on its behalf, also inside the library. */
export function keepClientAddress(app: FastifyInstance): void {
  app.addHook('onRequest', (request, _reply, done) => addresses.run(request.ip, done));
}

/**
 * The client address of the request that is being answered, as far as proxies are trusted. Undefined outside of any
 * request.
 */
export const clientAddress = (): string | undefined => addresses.getStore();

/**
 * Says once that requests come through a proxy that TRUST_PROXY does not name: its riders share one address's limits.
 * For services that are called by https, since only behind a proxy this one is.
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

/**
 * The networks that an address belongs to, narrowest first. For IPv6 its /64, /56 and /48: a subscriber has one of
 * these, and so at least 2^64 addresses. For IPv4 the address itself. IPv4 mapped into IPv6 is the IPv4 address.
 */
export function networksOf(address: string): string[] {
  if (!isIPv6(address)) return [address];
  const mapped = address.replace(/^::ffff:/i, '');
  if (isIPv4(mapped)) return [mapped];
  const [a, b, c, d] = firstGroups(address) as [number, number, number, number];
  const network = (groups: number[], bits: number): string =>
    `${groups.map((group) => group.toString(16)).join(':')}::/${bits}`;
  return [network([a, b, c, d], 64), network([a, b, c, d & 0xff00], 56), network([a, b, c], 48)];
}

/** The first four of an IPv6 address's eight groups. */
function firstGroups(address: string): number[] {
  const [before, after] = address.split('::') as [string, string?];
  const groups = before === '' ? [] : before.split(':').map((group) => Number.parseInt(group, 16));
  if (after === undefined) return groups.slice(0, 4);
  const rest = after === '' ? [] : after.split(':');
  // An IPv4 address at the end takes the place of two groups.
  const restLength = rest.length + (rest.at(-1)?.includes('.') ? 1 : 0);
  while (groups.length < 8 - restLength) groups.push(0);
  return [...groups, ...rest.map((group) => Number.parseInt(group, 16))].slice(0, 4);
}
