import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { completeKeyOf, developerKeyKey, riderKey } from '../../schemas/views/view-keys.ts';
import { UnavailableError } from '../http/answer.ts';
import type { TokenChecker, TokenSubject } from '../tokens/access-token.ts';
import { memoize } from './memoize.ts';

// The scheme alone: a pattern that also looked for the end would try every run of spaces from every place in it.
const bearer = /^bearer +/i;

/** The bearer token of an Authorization header, the scheme in any case; null where none is sent (docs/rules.md#bearer). */
function bearerToken({ authorization }: IncomingHttpHeaders): string | null {
  if (authorization === undefined) return null;
  const scheme = bearer.exec(authorization)?.[0];
  return (scheme && authorization.slice(scheme.length).trimEnd()) || null;
}

/** Who a request's token speaks for: nobody where it is not live, or where none was sent. */
export interface TokenHolder {
  rider: string | null;
  tokenSent: boolean;
}

const noToken: TokenHolder = { rider: null, tokenSent: false };
const holderOf = (subject: TokenSubject | null): TokenHolder => ({ rider: subject?.rider ?? null, tokenSent: true });

/** Who a request's token speaks for. Synchronous unless a signature has to be checked. */
export function tokenHolder(headers: IncomingHttpHeaders, checker: TokenChecker): TokenHolder | Promise<TokenHolder> {
  const token = bearerToken(headers);
  if (token === null) return noToken;
  const subject = checker.check(token);
  return subject instanceof Promise ? subject.then(holderOf) : holderOf(subject);
}

/**
 * The view that says whether a developer key's text is live (docs/rules.md#developer-keys). Header text is latin1: its
 * bytes are hashed as they came.
 */
const keyViewOf = memoize((keyText) => developerKeyKey(hash('sha256', Buffer.from(keyText, 'latin1'), 'hex')));

/**
 * Keys of the views of which one must be there for a public read (docs/rules.md#public-reads): the developer key's, and
 * the card of the token's rider. None where nothing was sent.
 */
export function credentialViews(headers: IncomingHttpHeaders, { rider }: TokenHolder): string[] {
  const views: string[] = [];
  const keyText = headers['x-api-key'];
  if (typeof keyText === 'string') views.push(keyViewOf(keyText));
  if (rider !== null) views.push(riderKey(rider));
  return views;
}

/**
 * Whether one of them is there. Absence counts only where the store is known to be complete
 * (docs/rules.md#absence): else throws UnavailableError, never a false 401.
 */
export function isLive(views: readonly string[], there: (key: string) => boolean): boolean {
  if (views.some(there)) return true;
  if (!views.every((view) => there(completeKeyOf(view)))) {
    throw new UnavailableError('live keys and riders are not known to be complete');
  }
  return false;
}
