/** The URL of the resource's metadata: RFC 9728 puts the resource's path after the well-known one. */
export function resourceMetadataUrl(baseUrl: string): string {
  const url = new URL(baseUrl);
  return `${url.origin}/.well-known/oauth-protected-resource${url.pathname.replace(/\/+$/, '')}`;
}

/**
 * The WWW-Authenticate header of every 401 (docs/rules.md#www-authenticate; RFC 9728 §5.1, RFC 6750 §3). `error` is
 * present only if a token was sent: a request without one did nothing wrong.
 */
export function wwwAuthenticate(baseUrl: string, tokenSent: boolean): string {
  const challenge = `Bearer resource_metadata="${resourceMetadataUrl(baseUrl)}", scope="read"`;
  return tokenSent ? `${challenge}, error="invalid_token"` : challenge;
}
