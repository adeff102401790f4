import type { ServiceUrl } from '../../messages/service-url.ts';
import { readScope } from '../tokens/access-token.ts';

/** Requests as oidc-provider should see them: without what has no meaning here. */

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
  if (params.getAll('scope').every((scope) => scope.trim() === '')) params.set('scope', readScope);
  const modes = params.getAll('response_mode');
  if (modes.length === 1 && modes[0] !== '' && modes[0] !== 'query') params.set('response_mode', 'not-offered');
  const types = params.getAll('response_type');
  if (types.length === 1 && types[0] !== '' && types[0] !== 'code') params.set('response_type', 'not-offered');
  return params.toString();
}

/**
 * A form without the one resource that there is: oidc-provider takes that one for a request that names none, and refuses
 * any other. A slash at its end is accepted (docs/rules.md#resource).
 */
export function canonicalForm(form: URLSearchParams, { resource }: ServiceUrl): string {
  const ours = ['', resource, `${resource}/`];
  return new URLSearchParams(
    [...form].filter(([name, value]) => name !== 'resource' || !ours.includes(value)),
  ).toString();
}
