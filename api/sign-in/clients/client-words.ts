import type { Client } from 'oidc-provider';
import { isLoopback } from '../../messages/service-url.ts';

/** A client's name on pages. The id of one that introduced itself says nothing to a rider. */
export const clientName = ({ clientName }: Pick<Client, 'clientName'>): string => clientName ?? 'Unnamed app';

/** The host of a client's metadata document. Null for a client that has none. */
export function documentHost({ clientId }: Pick<Client, 'clientId'>): string | null {
  const url = URL.parse(clientId);
  return url?.protocol === 'https:' ? url.host : null;
}

/** Where a response goes, in words, so that riders notice a place that they do not expect. */
export function redirectWords(redirectUri: string): string {
  const url = URL.parse(redirectUri);
  if (!url) return 'an unknown place';
  if (url.protocol === 'https:') return url.host;
  return url.protocol === 'http:' && isLoopback(url.hostname)
    ? 'an app on this device'
    : `an app on this device (${url.protocol}//)`;
}
