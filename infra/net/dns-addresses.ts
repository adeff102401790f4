import type { LookupAddress } from 'node:dns';
import { Resolver } from 'node:dns/promises';

/** All addresses of a name. Empty if it has none. Nothing is left running once the signal aborts. */
export type ResolveAddresses = (host: string, signal: AbortSignal) => Promise<LookupAddress[]>;

interface DnsOptions {
  /** The timeout of one query, and how often it is retried. */
  timeoutMs?: number;
  tries?: number;
  /** `address:port` of DNS servers in place of the system's. For tests. */
  servers?: readonly string[];
}

/**
 * Queries DNS directly. The system's look-up (getaddrinfo) cannot be cancelled, and each one blocks a thread of the
 * process until it ends. A few names whose servers never answer would stall every other look-up, also those of Kafka
 * and Redis.
 */
export function dnsAddresses({ timeoutMs = 1000, tries = 2, servers }: DnsOptions = {}): ResolveAddresses {
  return async (host, signal) => {
    signal.throwIfAborted();
    const resolver = new Resolver({ timeout: timeoutMs, tries });
    if (servers) resolver.setServers(servers);
    const cancel = (): void => resolver.cancel();
    signal.addEventListener('abort', cancel, { once: true });
    try {
      // For a name with only IPv4 or only IPv6 addresses, the other query fails.
      const found = await Promise.allSettled([
        resolver.resolve4(host).then((all) => all.map((address) => ({ address, family: 4 }))),
        resolver.resolve6(host).then((all) => all.map((address) => ({ address, family: 6 }))),
      ]);
      return found.flatMap((each) => (each.status === 'fulfilled' ? each.value : []));
    } finally {
      signal.removeEventListener('abort', cancel);
    }
  };
}
