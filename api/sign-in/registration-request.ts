import { type ClientMetadata, clientProblem } from './client-policy.ts';

interface RegistrationError {
  error: 'invalid_client_metadata' | 'invalid_redirect_uri' | 'invalid_request';
  error_description: string;
}

// Metadata of OpenID Connect, which is not spoken here, would make later requests fail; RFC 7591 lets us ignore it.
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

/** Only the members of client metadata that mean something here. */
export function knownMetadata(given: ClientMetadata): ClientMetadata {
  return Object.fromEntries(known.filter((name) => given[name] !== undefined).map((name) => [name, given[name]]));
}

/** A registration (RFC 7591) as the library should see it, or the error to answer without asking it. */
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
