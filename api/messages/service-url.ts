import { isIP } from 'node:net';

/** What depends on the service's address, which comes from BASE_URL only (docs/rules.md#base-url). */
export function serviceUrl(baseUrl: string) {
  const url = new URL(baseUrl);
  const basePath = url.pathname.replace(/\/+$/, '');
  return {
    /** Origin of BASE_URL: the issuer of tokens (docs/rules.md#issuer). */
    origin: url.origin,
    /** Host and port, as in a Host header. */
    host: url.host,
    https: url.protocol === 'https:',
    /** `resource` and `aud`: BASE_URL without a trailing slash. */
    resource: url.origin + basePath,
    /** Path of BASE_URL without a trailing slash. */
    basePath,
  };
}

export type ServiceUrl = ReturnType<typeof serviceUrl>;

/** Where metadata of resources is (RFC 9728). */
export const resourceMetadataPath = '/.well-known/oauth-protected-resource';

/** Where the resource's metadata is: RFC 9728 puts the resource's path after the well-known one. */
export const resourceMetadataUrl = ({ origin, basePath }: ServiceUrl): string =>
  `${origin}${resourceMetadataPath}${basePath}`;

/** Whether a host name or address, also in a URL's brackets, is this machine only. */
export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '[::1]' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
