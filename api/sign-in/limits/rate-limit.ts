import { hash } from 'node:crypto';
import type { Limiter, StateStore } from '../../ports/sign-in-state.ts';
import { networkOf } from './client-address.ts';

/** Limits how often something may be done. Counts are in the store, so all instances count together. */
export interface RateLimit {
  /**
   * Counts one time. Returns the seconds until the next may pass, or null if the request may go on. `client`: the
   * client that the address acts for.
   */
  hit(address: string, client?: string): Promise<number | null>;
  /** The same without counting. */
  full(address: string, client?: string): Promise<number | null>;
}

export interface RateLimitOptions {
  windowSeconds: number;
  /** For one IPv4 address or one IPv6 /48. */
  max: number;
  /** For one client from one address. */
  clientMax?: number;
  /** For all addresses together. */
  allMax?: number;
}

interface Level {
  limiter: Limiter;
  max: number;
  keyOf(network: string, client: string | undefined): string | null;
}

export function rateLimit(store: Pick<StateStore, 'limiter'>, name: string, options: RateLimitOptions): RateLimit {
  const { windowSeconds: duration, max, clientMax, allMax } = options;
  const level = (of: string, points: number | undefined, keyOf: Level['keyOf']): Level[] =>
    points === undefined
      ? []
      : [{ limiter: store.limiter({ name: `${name}-${of}`, points, duration }), max: points, keyOf }];
  /** What counts a request, narrowest first. */
  const levels = [
    ...level('client', clientMax, (network, client) => (client === undefined ? null : hashed(`${network} ${client}`))),
    ...level('network', max, hashed),
    ...level('all', allMax, () => 'all'),
  ];

  /** Seconds to wait, 0 if there is room. With `add` 1 the request counts, and had room if it was within the limit. */
  const wait = async ({ limiter, max, keyOf }: Level, address: string, client: string | undefined, add: 0 | 1) => {
    const key = keyOf(networkOf(address), client);
    if (key === null) return 0;
    // A store that is away limits nothing. The request will fail by itself, with the right error.
    const counted = await limiter.penalty(key, add).catch(() => null);
    if (counted === null || counted.consumedPoints - add < max) return 0;
    return Math.max(1, Math.ceil(counted.msBeforeNext / 1000));
  };
  return {
    async hit(address, client) {
      // Stops at the first level that is full: what one network is refused does not count for all together.
      for (const level of levels) {
        const seconds = await wait(level, address, client, 1);
        if (seconds > 0) return seconds;
      }
      return null;
    },
    async full(address, client) {
      const waits = await Promise.all(levels.map((level) => wait(level, address, client, 0)));
      return Math.max(...waits) || null;
    },
  };
}

/** Hashed, because the store need not know addresses and clients. */
const hashed = (text: string): string => hash('sha256', text, 'base64url').slice(0, 22);

export interface RateLimits {
  /** Sign-ins begun. */
  authorize: RateLimit;
  /** Refused token requests, also by client: guesses at codes, tokens and secrets. */
  failures: RateLimit;
  registrations: RateLimit;
  /** Client ID metadata documents fetched, by the address that asks. */
  documents: RateLimit;
  /** The same by the host that is asked. The document counts as the client. */
  fetches: RateLimit;
}

/**
 * The limits are generous, because all riders behind a proxy may have one address, and codes and tokens have 256 random
 * bits anyway. What strangers can make the store keep also has a limit for all together: sign-ins (15 minutes each) and
 * registrations (a day).
 */
export function rateLimits(store: StateStore): RateLimits {
  return {
    authorize: rateLimit(store, 'authorize', { max: 600, allMax: 6_000, windowSeconds: 60 }),
    // No limit for all together: a stranger who reached it could keep everybody's errors from being reported.
    failures: rateLimit(store, 'failures', { clientMax: 300, max: 1_500, windowSeconds: 60 }),
    registrations: rateLimit(store, 'registrations', { max: 100, allMax: 1_000, windowSeconds: 3600 }),
    documents: rateLimit(store, 'documents', { max: 60, windowSeconds: 60 }),
    // Each instance fetches a document that is in use every 30 s at most.
    fetches: rateLimit(store, 'fetches', { clientMax: 30, max: 60, allMax: 600, windowSeconds: 60 }),
  };
}
