import { type Configuration, errors } from 'oidc-provider';
import { readScope } from '../tokens/access-token-terms.ts';
import { canonicalResource, type ServiceUrl } from './service-url.ts';

/**
 * The longest `state`, also at signing out. The parameters of a request are stored until the sign-in ends, and anybody
 * may begin one.
 */
export const parameterLengthMax = 1000;
const limited = ['client_id', 'state', 'prompt'];

// The library's other parameters have no meaning here: hints, languages, OpenID Connect's nonce.
const known = new Set<string>([
  ...limited,
  'response_type',
  'response_mode',
  'redirect_uri',
  'scope',
  'code_challenge',
  'code_challenge_method',
  'resource',
  // The library refuses each of these with an error of its own.
  'request',
  'request_uri',
  'registration',
]);

/** Length checks by the library, so that the app gets the error for a parameter that is too long, with its state. */
export const lengthChecks: NonNullable<Configuration['extraParams']> = Object.fromEntries(
  limited.map((name) => [
    name,
    (_ctx: unknown, value: string | undefined) => {
      if (value !== undefined && value.length > parameterLengthMax)
        throw new errors.InvalidRequest(`${name} must have at most ${parameterLengthMax} characters`);
    },
  ]),
);

/**
 * The query of an authorization request as the library should see it.
 *
 * A request without scope gets `read`: otherwise the library would ask for consent to nothing and then refuse.
 * Parameters without a meaning here are left out (RFC 6749, 3.1). The resource is spelled in one way.
 *
 * Responses come only in the query. The library has other response modes that cannot be switched off, so their names
 * are changed to unknown ones. A response type other than `code` is changed too: for types with a token the library
 * would respond in the fragment.
 */
export function canonicalAuthorizeQuery(query: string, service: ServiceUrl): string {
  const params = new URLSearchParams([...new URLSearchParams(query)].filter(([name]) => known.has(name)));
  if (params.getAll('scope').every((scope) => scope.trim() === '')) params.set('scope', readScope);
  const resources = new Set(params.getAll('resource').map((resource) => canonicalResource(resource, service)));
  params.delete('resource');
  for (const resource of resources) params.append('resource', resource);
  const modes = params.getAll('response_mode');
  if (modes.length === 1 && modes[0] !== '' && modes[0] !== 'query') params.set('response_mode', 'not-offered');
  const types = params.getAll('response_type');
  if (types.length === 1 && types[0] !== '' && types[0] !== 'code') params.set('response_type', 'not-offered');
  return params.toString();
}
