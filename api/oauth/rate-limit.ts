import { hash } from 'node:crypto';
import { isIPv4, isIPv6 } from 'node:net';
import type { StateStore } from './state-store.ts';

/** How often one address may do something. Counted in the store, so that instances count together. */
export interface RateLimit {
  /** Seconds to wait, or null where it may go on; counts this time. */
  hit(address: string): Promise<number | null>;
  /** The same without counting. */
  full(address: string): Promise<number | null>;
}

export function rateLimit(store: StateStore, name: string, max: number, windowSeconds: number): RateLimit {
  const check = async (address: string, add: number): Promise<number | null> => {
    // The store need not know who came.
    const counter = `${name}:${hash('sha256', networkOf(address), 'base64url').slice(0, 22)}`;
    // A store that is away limits nobody: what is asked for will fail by itself, with the error that belongs to it.
    const count = await store.count(counter, windowSeconds, add).catch(() => 0);
    return count > max || (add === 0 && count >= max) ? windowSeconds : null;
  };
  return { hit: (address) => check(address, 1), full: (address) => check(address, 0) };
}

/**
 * Whom an address stands for: a subscriber of IPv6 has at least 2^64 of them, so its network counts; IPv4 within IPv6 is
 * the IPv4 address.
 */
export function networkOf(address: string): string {
  if (!isIPv6(address)) return address;
  const mapped = address.replace(/^::ffff:/i, '');
  if (isIPv4(mapped)) return mapped;
  const [before, after] = address.toLowerCase().split('::') as [string, string?];
  const groups = before.split(':');
  if (after !== undefined) while (groups.length < 4) groups.push('0');
  return `${groups
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, '') || '0')
    .join(':')}::/64`;
}

export interface RateLimits {
  /** Sign-ins begun. */
  authorize: RateLimit;
  /** Refused token requests: guesses at codes, tokens and secrets. */
  failures: RateLimit;
  registrations: RateLimit;
  /** Client ID metadata documents fetched. */
  documents: RateLimit;
}

/** Generous, since a proxy may make many riders look like one; what is guessed at has 256 bits anyway. */
export function rateLimits(store: StateStore): RateLimits {
  return {
    authorize: rateLimit(store, 'authorize', 600, 60),
    failures: rateLimit(store, 'failures', 300, 60),
    registrations: rateLimit(store, 'registrations', 100, 3600),
    documents: rateLimit(store, 'documents', 60, 60),
  };
}
