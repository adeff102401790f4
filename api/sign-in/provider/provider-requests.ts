import { type Configuration, errors } from 'oidc-provider';
import { canonicalResource, type ServiceUrl } from '../../messages/service-url.ts';
import { type ClientMetadata, clientProblem, knownMetadata } from '../clients/client-policy.ts';
import { readScope } from '../tokens/access-token.ts';

/** Requests as oidc-provider should see them: without what has no meaning here, and spelled in one way. */

// The parameters of a request are stored until the sign-in ends, and anybody may begin one.
const parameterLengthMax = 1000;
const limited = ['client_id', 'state', 'prompt'];

// oidc-provider's other parameters have no meaning here: hints, languages, OpenID Connect's nonce.
const knownParameters = new Set<string>([
  ...limited,
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

/** Length checks by oidc-provider, so that the app gets the error for a parameter that is too long, with its state. */
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
 * The query of an authorization request as oidc-provider should see it, for example `client_id=x&nonce=1` becomes
 * `client_id=x&scope=read`.
 *
 * A request without scope gets `read` (docs/rules.md#scope): otherwise oidc-provider would ask for consent to nothing
 * and then refuse. Parameters without a meaning here are left out (RFC 6749, 3.1). The resource is spelled in one way
 * (docs/rules.md#resource).
 *
 * Responses come only in the query. oidc-provider has other response modes that cannot be switched off, so their names
 * are changed to unknown ones. A response type other than `code` is changed too: for types with a token oidc-provider
 * would respond in the fragment.
 */
export function canonicalAuthorizeQuery(query: string, service: ServiceUrl): string {
  const params = new URLSearchParams([...new URLSearchParams(query)].filter(([name]) => knownParameters.has(name)));
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

/** The error to answer without asking oidc-provider (RFC 6749, 5.2; RFC 7591, 3.2.2). */
type Refused = { refuse: { error: string; error_description: string } };

/**
 * A form of the token endpoint as oidc-provider should see it, with the resource spelled in one way; or a refusal of any
 * other resource, which oidc-provider would find wrong only after it has used up the refresh token.
 */
export function canonicalTokenRequest(form: URLSearchParams, service: ServiceUrl): { form: string } | Refused {
  const given = form.getAll('resource').filter((resource) => resource !== '');
  const resources = new Set(given.map((resource) => canonicalResource(resource, service)));
  const why = `the only resource here is ${service.resource}`;
  for (const resource of resources)
    if (resource !== service.resource) return { refuse: { error: 'invalid_target', error_description: why } };
  const canonical = new URLSearchParams(form);
  canonical.delete('resource');
  for (const resource of resources) canonical.append('resource', resource);
  return { form: canonical.toString() };
}

/** A registration (RFC 7591) as oidc-provider should see it, or a refusal. */
export function registrationRequest(text: string): { metadata: ClientMetadata } | Refused {
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch {
    return { refuse: { error: 'invalid_request', error_description: 'the body is not JSON' } };
  }
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    return { refuse: { error: 'invalid_request', error_description: 'the body is not a JSON object' } };
  const problem = clientProblem(given as ClientMetadata);
  if (problem === null) return { metadata: knownMetadata(given as ClientMetadata) };
  return {
    refuse: {
      error: problem.startsWith('redirect_uris') ? 'invalid_redirect_uri' : 'invalid_client_metadata',
      error_description: problem,
    },
  };
}
