import { hash } from 'node:crypto';
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
    const counter = `${name}:${hash('sha256', address, 'base64url').slice(0, 22)}`;
    // A store that is away limits nobody: what is asked for will fail by itself, with the error that belongs to it.
    const count = await store.count(counter, windowSeconds, add).catch(() => 0);
    return count > max || (add === 0 && count >= max) ? windowSeconds : null;
  };
  return { hit: (address) => check(address, 1), full: (address) => check(address, 0) };
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
