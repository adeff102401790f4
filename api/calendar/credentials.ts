import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { completeKey, developerKeyKey, riderKey } from '../../schemas/views/view-keys.ts';
import { UnavailableError } from '../http/answer.ts';
import type { TokenChecker } from '../tokens/access-token.ts';
import { memoize } from './memoize.ts';
import type { ViewCache } from './view-cache.ts';

// The scheme alone: a pattern that also looked for the end would try every run of spaces from every place in it.
const bearer = /^bearer +/i;

/**
 * The bearer token of an Authorization header, the scheme in any case; null where none is sent (docs/rules.md#bearer).
 */
export function bearerToken(headers: IncomingHttpHeaders): string | null {
  const { authorization } = headers;
  if (authorization === undefined) return null;
  const scheme = bearer.exec(authorization)?.[0];
  return (scheme && authorization.slice(scheme.length).trimEnd()) || null;
}

/**
 * The view that says whether a developer key's text is live (docs/rules.md#developer-keys). Header text is latin1: its
 * bytes are hashed as they came.
 */
export const keyViewOf = memoize((keyText) => developerKeyKey(hash('sha256', Buffer.from(keyText, 'latin1'), 'hex')));

/** Keys of the views that decide on what a request carries: a developer key, a token's rider. */
export interface Presented {
  /** The developer key view, if a key was sent. */
  key: string | null;
  /** The rider card, if a live token was sent. */
  rider: string | null;
  tokenSent: boolean;
}

/** What a request carries. Synchronous unless a token's signature has to be checked. */
export function presented(headers: IncomingHttpHeaders, checker: TokenChecker): Presented | Promise<Presented> {
  const keyText = headers['x-api-key'];
  const key = typeof keyText === 'string' ? keyViewOf(keyText) : null;
  const token = bearerToken(headers);
  if (token === null) return { key, rider: null, tokenSent: false };
  const with_ = (subject: { rider: string } | null): Presented => ({
    key,
    rider: subject && riderKey(subject.rider),
    tokenSent: true,
  });
  const subject = checker.check(token);
  return subject instanceof Promise ? subject.then(with_) : with_(subject);
}

/** Whether one of the views presented is there, as far as this process keeps it; false says nothing about the store. */
export function liveHere(cache: ViewCache, { key, rider }: Presented): boolean {
  return (key !== null && cache.peek(key) !== undefined) || (rider !== null && cache.peek(rider) !== undefined);
}

/** Keys to load to decide on what was presented, completeness of their tags included. */
export function keysToDecide({ key, rider }: Presented): string[] {
  return [key, rider].flatMap((view) => (view === null ? [] : [view, completeKey(tagOfView(view))]));
}

const tagOfView = (view: string): number => Number(view.slice(0, view.indexOf('|')));

/**
 * Decides on what was presented, given the views loaded (docs/rules.md#public-reads). Absence counts only where the
 * store is known to be complete: else throws UnavailableError, never a false 401.
 */
export function isLive({ key, rider }: Presented, there: (key: string) => boolean): boolean {
  const views = [key, rider].filter((view) => view !== null);
  if (views.some(there)) return true;
  if (!views.every((view) => there(completeKey(tagOfView(view))))) {
    throw new UnavailableError('live keys and riders are not known to be complete');
  }
  return false;
}
