import type { Client } from 'oidc-provider';
import { isLoopback } from '../oauth/service-url.ts';

/** How a client is called on pages. */
export function clientName(client: Pick<Client, 'clientId' | 'clientName'>): string {
  return client.clientName ?? client.clientId;
}

/** Where a client that is its own metadata document has it; null for any other. */
export function documentHost({ clientId }: Pick<Client, 'clientId'>): string | null {
  return clientId.startsWith('https://') ? (URL.parse(clientId)?.host ?? null) : null;
}

/** Where an answer goes, in words: who reads them should notice a place they don't expect. */
export function redirectWords(redirectUri: string): string {
  const url = URL.parse(redirectUri);
  if (!url) return 'an unknown place';
  if (url.protocol === 'https:') return url.host;
  return url.protocol === 'http:' && isLoopback(url.hostname)
    ? 'an app on this device'
    : `an app on this device (${url.protocol}//)`;
}

/**
 * Where a form may end that leads to a redirect URI, as source expressions of a content security policy. Chromium holds
 * the policy against the client's own redirects too, which often go on to another host of theirs (seen with 156): so
 * not the one origin, but all that such a client may be sent to.
 */
export function redirectSources(redirectUri: string): string[] {
  const url = URL.parse(redirectUri);
  if (!url) return [];
  if (url.protocol === 'https:') return [url.origin, 'https:'];
  if (url.protocol !== 'http:') return [url.protocol];
  // A source expression can't hold an IPv6 address.
  if (url.hostname.startsWith('[')) return ['http:', 'https:'];
  return [url.origin, 'http://127.0.0.1:*', 'http://localhost:*', 'https:'];
}
