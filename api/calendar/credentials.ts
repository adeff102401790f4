import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { developerKeyKey, riderKey } from '../../schemas/views/view-kinds.ts';
import { memoize } from '../messages/memoize.ts';
import type { TokenChecker } from '../ports/token-check.ts';
import type { Entry } from './views/view-cache.ts';

// Matches the scheme alone. A pattern that also matched the end would be quadratic in the number of spaces.
const bearer = /^bearer +/i;

/**
 * The bearer token of an Authorization header, or null if none is sent. The scheme is matched in any case
 * (docs/rules.md#bearer).
 */
function bearerToken({ authorization }: IncomingHttpHeaders): string | null {
  if (authorization === undefined) return null;
  const scheme = bearer.exec(authorization)?.[0];
  return (scheme && authorization.slice(scheme.length).trimEnd()) || null;
}

/** The rider that a request's token belongs to. `rider` is null if no token was sent or it is not live. */
export interface TokenHolder {
  rider: string | null;
  tokenSent: boolean;
}

const holding = (rider: string | null): TokenHolder => ({ rider, tokenSent: true });

/** Finds the rider of a request's token. Synchronous unless a signature has to be verified. */
export function tokenHolder(headers: IncomingHttpHeaders, checker: TokenChecker): TokenHolder | Promise<TokenHolder> {
  const token = bearerToken(headers);
  if (token === null) return { rider: null, tokenSent: false };
  const rider = checker.check(token);
  return rider instanceof Promise ? rider.then(holding) : holding(rider);
}

/**
 * The view that exists while a developer key is live (docs/rules.md#developer-keys). node:http gives header text as
 * latin1, so its original bytes are hashed.
 */
const keyViewOf = memoize((keyText) => developerKeyKey(hash('sha256', Buffer.from(keyText, 'latin1'), 'hex')));

/**
 * Keys of views, one of which must exist for a public read (docs/rules.md#public-reads): the developer key's, and the
 * card of the token's rider. Empty if no credential was sent.
 */
export function credentialViews(headers: IncomingHttpHeaders, { rider }: TokenHolder): string[] {
  const views: string[] = [];
  const keyText = headers['x-api-key'];
  if (typeof keyText === 'string') views.push(keyViewOf(keyText));
  if (rider !== null) views.push(riderKey(rider));
  return views;
}

/**
 * Whether one of these views exists (docs/rules.md#live-token, #developer-keys). Throws StoreAwayError if that is not certain,
 * so that there is never a false 401.
 */
export function isLive(views: readonly Entry[]): boolean {
  if (views.some(({ isThere }) => isThere)) return true;
  for (const view of views) view.assertKnown();
  return false;
}
