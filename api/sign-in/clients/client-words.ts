import type { Client } from 'oidc-provider';
import { isLoopback } from '../../messages/service-url.ts';

/** A client's name on pages. The id of one that introduced itself says nothing to a rider. */
export function clientName({ clientName }: Pick<Client, 'clientName'>): string {
  return clientName ?? 'Unnamed app';
}

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

/**
 * Where a form may end that leads to a redirect URI, as source expressions of a content security policy. Chromium (seen
 * with 156) also applies the policy to the client's own redirects, which often go on to another of its hosts. So this
 * is not one origin, but all addresses that such a client may be redirected to.
 */
export function redirectSources(redirectUri: string): string[] {
  const url = URL.parse(redirectUri);
  if (!url) return [];
  if (url.protocol === 'https:') return [url.origin, 'https:'];
  if (url.protocol !== 'http:') return [url.protocol];
  // A source expression cannot contain an IPv6 address.
  if (url.hostname.startsWith('[')) return ['http:', 'https:'];
  return [url.origin, 'http://127.0.0.1:*', 'http://localhost:*', 'https:'];
}
