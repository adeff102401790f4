import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { developerKeyKey, riderKey } from '../../schemas/views/view-kinds.ts';
import { memoize } from '../messages/memoize.ts';
import type { Entry } from './views/view-cache.ts';

/** The bearer token of an Authorization header, or null. The scheme is matched in any case (docs/rules.md#bearer). */
export const bearerToken = ({ authorization }: IncomingHttpHeaders): string | null =>
  /^bearer +(.+)/i.exec(authorization ?? '')?.[1] ?? null;

/** The view that exists while a developer key is live. node:http gives header text as latin1, so its original bytes are hashed. */
const keyViewOf = memoize((keyText) => developerKeyKey(hash('sha256', Buffer.from(keyText, 'latin1'), 'hex')));

/**
 * Keys of views, one of which must exist for a public read (docs/rules.md#public-reads): the developer key's, and the
 * card of the token's rider. Empty if no credential was sent.
 */
export function credentialViews(headers: IncomingHttpHeaders, rider: string | null): string[] {
  const views: string[] = [];
  const keyText = headers['x-api-key'];
  if (typeof keyText === 'string') views.push(keyViewOf(keyText));
  if (rider !== null) views.push(riderKey(rider));
  return views;
}

/** Whether one of these views exists (docs/rules.md#live-token). Throws StoreAwayError if that is not certain. */
export function isLive(views: readonly Entry[]): boolean {
  if (views.some(({ isThere }) => isThere)) return true;
  for (const view of views) view.assertKnown();
  return false;
}
