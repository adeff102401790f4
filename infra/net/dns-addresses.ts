import type { LookupAddress } from 'node:dns';
import { Resolver } from 'node:dns/promises';

/** All addresses of a name; none where it has none. Leaves nothing under way once the signal aborts. */
export type ResolveAddresses = (host: string, signal: AbortSignal) => Promise<LookupAddress[]>;

export interface DnsOptions {
  /** Longest wait for one answer, and how often it is asked for. */
  timeoutMs?: number;
  tries?: number;
  /** `address:port` of DNS servers in place of the system's; for tests. */
  servers?: readonly string[];
}

/**
 * Asks DNS itself. The system's look-up (getaddrinfo) can't be cancelled, and each one keeps a thread of the process
 * until it ends: a few names whose servers never answer would stall every other look-up, Kafka's and Redis's too.
 */
export function dnsAddresses({ timeoutMs = 1000, tries = 2, servers }: DnsOptions = {}): ResolveAddresses {
  return async (host, signal) => {
    signal.throwIfAborted();
    const resolver = new Resolver({ timeout: timeoutMs, tries });
    if (servers) resolver.setServers(servers);
    const cancel = (): void => resolver.cancel();
    signal.addEventListener('abort', cancel, { once: true });
    try {
      // A name with one kind of address has an error for the other.
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
