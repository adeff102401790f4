import { hash } from 'node:crypto';
import { networksOf } from './networks.ts';
import type { StateStore } from './state-store.ts';

/** How often something may be done. Counted in the store, so that instances count together. */
export interface RateLimit {
  /** Seconds to wait, or null where it may go on; counts this time. `client`: on whose behalf the address asks. */
  hit(address: string, client?: string): Promise<number | null>;
  /** The same without counting. */
  full(address: string, client?: string): Promise<number | null>;
}

export interface RateLimitOptions {
  windowSeconds: number;
  /** From one IPv4 address or one IPv6 /64. A /56, which many subscribers have, may twice as much, a /48 four times. */
  max: number;
  /** For one client from one address. */
  clientMax?: number;
  /** From everywhere. */
  allMax?: number;
}

interface Level {
  counter: string;
  max: number;
}

export function rateLimit(store: StateStore, name: string, options: RateLimitOptions): RateLimit {
  const { windowSeconds } = options;
  // A store that is away limits nobody: what is asked for will fail by itself, with the error that belongs to it.
  const count = (counter: string, add: number): Promise<number> =>
    store.count(`${name}:${counter}`, windowSeconds, add).catch(() => 0);
  return {
    async hit(address, client) {
      // The narrowest first, and one that is full ends it: what is refused to one network uses up nothing of a wider one.
      for (const { counter, max } of levels(options, address, client))
        if ((await count(counter, 1)) > max) return windowSeconds;
      return null;
    },
    async full(address, client) {
      const found = await Promise.all(
        levels(options, address, client).map(async ({ counter, max }) => (await count(counter, 0)) >= max),
      );
      return found.includes(true) ? windowSeconds : null;
    },
  };
}

/** What one request counts towards, the narrowest first. */
function levels({ max, clientMax, allMax }: RateLimitOptions, address: string, client?: string): Level[] {
  const networks = networksOf(address);
  const found: Level[] = networks.map((network, i) => ({ counter: hashed(network), max: max * 2 ** i }));
  if (client !== undefined && clientMax !== undefined)
    found.unshift({ counter: hashed(`${networks[0]} ${client}`), max: clientMax });
  if (allMax !== undefined) found.push({ counter: 'all', max: allMax });
  return found;
}

/** The store need not know who came. */
const hashed = (text: string): string => hash('sha256', text, 'base64url').slice(0, 22);

export interface RateLimits {
  /** Sign-ins begun. */
  authorize: RateLimit;
  /** Refused token requests, by client too: guesses at codes, tokens and secrets. */
  failures: RateLimit;
  registrations: RateLimit;
  /** Client ID metadata documents fetched, by the address that asks. */
  documents: RateLimit;
  /** The same by the host that is asked, with the document as the client. */
  fetches: RateLimit;
}

/**
 * Generous, since a proxy may make many riders look like one; what is guessed at has 256 bits anyway. What strangers can
 * make the store keep has a limit for all together: sign-ins, for 15 minutes each, and registrations, for a day.
 */
export function rateLimits(store: StateStore): RateLimits {
  return {
    authorize: rateLimit(store, 'authorize', { max: 600, allMax: 6_000, windowSeconds: 60 }),
    // Without one for all: whoever reached it would keep everybody's mistakes from being told.
    failures: rateLimit(store, 'failures', { clientMax: 300, max: 1_500, windowSeconds: 60 }),
    registrations: rateLimit(store, 'registrations', { max: 100, allMax: 1_000, windowSeconds: 3600 }),
    documents: rateLimit(store, 'documents', { max: 60, windowSeconds: 60 }),
    // Each instance asks for a document that is in use every 30 s at most.
    fetches: rateLimit(store, 'fetches', { clientMax: 30, max: 60, allMax: 600, windowSeconds: 60 }),
  };
}
