import type { Client } from 'oidc-provider';
import { isLoopbackHost } from './service-url.ts';

/** How a client is called on pages. */
export function clientName(client: Pick<Client, 'clientId' | 'clientName'>): string {
  return client.clientName ?? client.clientId;
}

/** Where an answer goes, in words: who reads them should notice a place they don't expect. */
export function redirectWords(redirectUri: string): string {
  const url = URL.parse(redirectUri);
  if (!url) return 'an unknown place';
  if (url.protocol === 'https:') return url.host;
  return url.protocol === 'http:' && isLoopbackHost(url.hostname)
    ? 'an app on this device'
    : `an app on this device (${url.protocol}//)`;
}

/** The source expression by which a content security policy lets a form end at a redirect URI. */
export function redirectSource(redirectUri: string): string | null {
  const url = URL.parse(redirectUri);
  if (!url) return null;
  if (url.protocol === 'https:') return url.origin;
  // A source expression can't hold an IPv6 address.
  if (url.protocol === 'http:') return url.hostname.startsWith('[') ? 'http:' : url.origin;
  return url.protocol;
}
