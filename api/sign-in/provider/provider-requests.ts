import type { ServiceUrl } from '../../messages/service-url.ts';
import { offlineScope, readScope } from '../tokens/access-token.ts';

/** Requests as oidc-provider should see them: without what has no meaning here. */

/** Comes before an access token at the revocation endpoint: oidc-provider would refuse a JWT there by its looks. */
export const accessTokenMark = 'access-token:';

/** Marks the token of a revocation if it looks like an access token, for the adapter to find. */
export function markAccessToken(form: URLSearchParams): void {
  const token = form.get('token');
  if (token?.split('.').length === 3) form.set('token', accessTokenMark + token);
}

// oidc-provider's other parameters have no meaning here: hints, languages, OpenID Connect's nonce.
const knownParameters = new Set([
  'client_id',
  'state',
  'prompt',
  'response_type',
  'response_mode',
  'redirect_uri',
  'scope',
  'code_challenge',
  'code_challenge_method',
  'resource',
  // oidc-provider refuses each of these with an error of its own.
  'request',
  'request_uri',
  'registration',
]);

/**
 * The query of an authorization request as oidc-provider should see it, for example `client_id=x&nonce=1` becomes
 * `client_id=x&scope=read`.
 *
 * A request without scope gets `read` (docs/rules.md#scope): otherwise oidc-provider would ask for consent to nothing
 * and then refuse. Parameters without a meaning here are left out (RFC 6749, 3.1).
 *
 * Responses come only in the query. oidc-provider has other response modes that cannot be switched off, so their names
 * are changed to unknown ones. A response type other than `code` is changed too: for types with a token oidc-provider
 * would respond in the fragment.
 */
export function canonicalAuthorizeQuery(query: string, service: ServiceUrl): string {
  const known = [...new URLSearchParams(query)].filter(([name]) => knownParameters.has(name));
  const params = new URLSearchParams(canonicalForm(new URLSearchParams(known), service));
  if (!params.has('scope')) params.set('scope', readScope);
  // Of a character that no scope may have oidc-provider would say no more than that. As `?` it is a wrong scope like any.
  const scopes = params.getAll('scope');
  if (scopes.length === 1) params.set('scope', scopes[0]!.replaceAll(/[^\x20\x21\x23-\x5b\x5d-\x7e]/g, '?'));
  const modes = params.getAll('response_mode');
  if (modes.length === 1 && modes[0] !== '' && modes[0] !== 'query') params.set('response_mode', 'not-offered');
  const types = params.getAll('response_type');
  if (types.length === 1 && types[0] !== '' && types[0] !== 'code') params.set('response_type', 'not-offered');
  return params.toString();
}

/**
 * A form without what changes nothing. The one resource that there is: oidc-provider takes that one for a request that
 * names none, and refuses any other; a slash at its end is accepted (docs/rules.md#resource). And `offline_access`, which
 * many apps add to every scope (docs/rules.md#scope).
 */
export function canonicalForm(form: URLSearchParams, { resource }: ServiceUrl): string {
  const ours = ['', resource, `${resource}/`];
  const kept = [...form]
    .map(([name, value]) => [name, name === 'scope' ? withoutOffline(value) : value] as [string, string])
    .filter(([name, value]) => (name !== 'resource' || !ours.includes(value)) && (name !== 'scope' || value !== ''));
  return new URLSearchParams(kept).toString();
}

const withoutOffline = (scope: string): string =>
  scope
    .split(' ')
    .filter((each) => each !== '' && each !== offlineScope)
    .join(' ');
