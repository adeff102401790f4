import { applicationType, type ClientMetadata, clientProblem } from './client-policy.ts';

interface RegistrationError {
  error: 'invalid_client_metadata' | 'invalid_redirect_uri' | 'invalid_request';
  error_description: string;
}

// Metadata of OpenID Connect, which is not supported here, would make later requests fail. RFC 7591 allows ignoring it.
const known = [
  'redirect_uris',
  'post_logout_redirect_uris',
  'token_endpoint_auth_method',
  'grant_types',
  'response_types',
  'application_type',
  'client_name',
  'client_uri',
  'logo_uri',
  'tos_uri',
  'policy_uri',
  'contacts',
  'scope',
];

// Clients list all that they can do, wherever they register. What is not offered here is dropped (RFC 7591, 2).
const offered: Record<string, { needed: string; all: readonly string[] }> = {
  grant_types: { needed: 'authorization_code', all: ['authorization_code', 'refresh_token'] },
  response_types: { needed: 'code', all: ['code'] },
};

/**
 * Keeps only the members of client metadata that have a meaning here, and of lists only what is offered. A list without
 * the value that every client needs is kept, so that the client is refused.
 */
export function knownMetadata(given: ClientMetadata): ClientMetadata {
  const kept = (name: string): unknown => {
    const [value, offer] = [given[name], offered[name]];
    return offer && Array.isArray(value) && value.includes(offer.needed)
      ? value.filter((each) => offer.all.includes(each))
      : value;
  };
  const client = Object.fromEntries(
    known.filter((name) => given[name] !== undefined).map((name) => [name, kept(name)]),
  );
  return { ...client, application_type: applicationType(client) };
}

/** A registration (RFC 7591) as the library should see it, or the error to answer without asking the library. */
export function registrationRequest(text: string): { metadata: ClientMetadata } | { refuse: RegistrationError } {
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
