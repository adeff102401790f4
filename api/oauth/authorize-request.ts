import { type Configuration, errors } from 'oidc-provider';
import { readScope } from '../tokens/access-token-terms.ts';
import { canonicalResource, type ServiceUrl } from './service-url.ts';

// What a request is asked with is kept until the sign-in ends, and anybody may begin one.
const lengthMax = 1000;
const limited = ['client_id', 'state', 'prompt'];

// The rest of what the library knows means nothing here: hints, languages, OpenID Connect's nonce.
const known = new Set<string>([
  ...limited,
  'response_type',
  'response_mode',
  'redirect_uri',
  'scope',
  'code_challenge',
  'code_challenge_method',
  'resource',
  // Refused by the library, with an error of its own each.
  'max_age',
  'request',
  'request_uri',
  'registration',
]);

/** The library's checks of parameters, by which one that is too long is an error that the app gets, with its state. */
export const lengthChecks: NonNullable<Configuration['extraParams']> = Object.fromEntries(
  limited.map((name) => [
    name,
    (_ctx: unknown, value: string | undefined) => {
      if (value !== undefined && value.length > lengthMax)
        throw new errors.InvalidRequest(`${name} must have at most ${lengthMax} characters`);
    },
  ]),
);

/**
 * The query of an authorization request as the library should see it. A request without scope gets `read`: the library
 * would ask for consent to nothing and then refuse it. What means nothing here is left out (RFC 6749, 3.1). The resource
 * is spelled in one way. Only answers in the query are offered; the library knows others and can't forget them, so their
 * names are made unknown to it. A response type other than `code` gets another name too: from those with a token in them
 * the library would answer in the fragment.
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
