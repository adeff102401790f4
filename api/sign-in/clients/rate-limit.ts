import { hash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { Limiter, StateStore } from '../../ports/sign-in-state.ts';
import { storeId } from '../tokens/sealed-store.ts';
import { networkOf } from './client-address.ts';

/** Limits how often something may be done. Counts are in the store, so all instances count together. */
export interface RateLimit {
  /**
   * Counts one time. Returns the seconds until the next may pass, or null if the request may go on. `client`: the client
   * that the address acts for.
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

  /** Seconds to wait: 0 if there is room, or was for the one that is added. */
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
      // The first that is full ends the loop: a request that one network is refused does not count for all together.
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

/**
 * Limits refused requests at the token and revocation endpoints: guesses at codes, tokens and secrets.
 *
 * They are counted by address and client, so one client's guesses do not refuse another client. A live code or refresh
 * token is not a guess: it is accepted however many guesses came from its address or for its client. Behind a proxy that
 * TRUST_PROXY does not name, all riders have one address, and a stranger must not lock them out.
 */
export function tokenLimit({ failures }: RateLimits, store: StateStore) {
  return {
    /** Seconds to wait, or null if the request may go on. */
    async wait(request: FastifyRequest, form: URLSearchParams): Promise<number | null> {
      const client = namedClient(request, form);
      const wait = await failures.full(request.ip, client);
      return wait !== null && (await isKept(store, form, client)) ? null : wait;
    },
    /** A request was refused. */
    async refused(request: FastifyRequest, form: URLSearchParams): Promise<void> {
      await failures.hit(request.ip, namedClient(request, form));
    },
  };
}

const kinds = { code: 'AuthorizationCode', refresh_token: 'RefreshToken', token: 'RefreshToken' };

async function isKept(store: StateStore, form: URLSearchParams, client: string): Promise<boolean> {
  for (const [name, kind] of Object.entries(kinds)) {
    const value = form.get(name);
    const entry = value ? await store.find(kind, storeId(kind, value)) : null;
    if (entry?.clientId === client) return true;
  }
  return false;
}

/** The client that a request names, in its form or by HTTP Basic (RFC 6749, 2.3.1). Not authenticated. */
function namedClient({ headers }: FastifyRequest, form: URLSearchParams): string {
  const basic = /^Basic +([A-Za-z0-9+/=]+)$/i.exec(headers.authorization ?? '')?.[1];
  if (basic === undefined) return form.get('client_id') ?? '';
  const [user] = Buffer.from(basic, 'base64').toString().split(':');
  return new URLSearchParams(`id=${user!.replaceAll('&', '%26')}`).get('id') ?? '';
}
