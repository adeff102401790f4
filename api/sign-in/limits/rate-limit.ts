import { hash } from 'node:crypto';
import type { StateStore } from '../../ports/sign-in-state.ts';
import { networkOf } from './client-address.ts';

/** Limits by address, and for all together. Counts one time; the seconds until the next may pass, or null. */
export type RateLimit = (address: string) => Promise<number | null>;

interface RateLimitOptions {
  windowSeconds: number;
  /** For one IPv4 address or one IPv6 /48. */
  max: number;
  /** For all addresses together. */
  allMax: number;
}

/** Counts are in the store, so all instances count together. */
export function rateLimit(store: Pick<StateStore, 'limiter'>, name: string, options: RateLimitOptions): RateLimit {
  const { windowSeconds: duration, max, allMax } = options;
  const level = (of: string, points: number) => {
    const limiter = store.limiter({ name: `${name}-${of}`, points, duration });
    return async (key: string): Promise<number | null> => {
      // A store that is away limits nothing. The request will fail by itself, with the right error.
      const counted = await limiter.penalty(key).catch(() => null);
      if (counted === null || counted.consumedPoints <= points) return null;
      return Math.max(1, Math.ceil(counted.msBeforeNext / 1000));
    };
  };
  const [ofNetwork, ofAll] = [level('network', max), level('all', allMax)];
  // What one network is refused does not count for all together. Hashed, because the store need not know addresses.
  return async (address) =>
    (await ofNetwork(hash('sha256', networkOf(address), 'base64url').slice(0, 22))) ?? (await ofAll('all'));
}

/**
 * The limits are generous, because all riders behind a proxy may have one address. They are on what strangers can make
 * the store keep, sign-ins begun (15 minutes each) and registrations (a day), and on the client ID metadata documents
 * that they can make the service fetch. Guesses at codes, tokens and secrets need none: these are too long.
 */
export const rateLimits = (store: StateStore) => ({
  authorize: rateLimit(store, 'authorize', { max: 600, allMax: 6_000, windowSeconds: 60 }),
  registrations: rateLimit(store, 'registrations', { max: 100, allMax: 1_000, windowSeconds: 3600 }),
  documents: rateLimit(store, 'documents', { max: 60, allMax: 600, windowSeconds: 60 }),
});

export type RateLimits = ReturnType<typeof rateLimits>;
