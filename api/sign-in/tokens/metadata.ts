import { resourceMetadataPath, type ServiceUrl } from '../../messages/service-url.ts';
import { readScope } from './access-token.ts';

/** Paths of the authorization server, on the service's own origin. */
export const paths = {
  authorize: '/oauth/authorize',
  token: '/oauth/token',
  revoke: '/oauth/revoke',
  register: '/oauth/register',
  jwks: '/oauth/jwks',
  signIn: '/oauth/sign-in',
  callback: '/oauth/sign-in-callback',
  signOut: '/oauth/sign-out',
  connectedApps: '/oauth/connected-apps',
  serverMetadata: '/.well-known/oauth-authorization-server',
  resourceMetadata: resourceMetadataPath,
} as const;

/** How clients authenticate at the token endpoint. */
export const clientAuthMethods = ['none', 'client_secret_basic', 'client_secret_post'] as const;

/**
 * The authorization server's metadata (RFC 8414, docs/rules.md#metadata, #issuer). Not written by oidc-provider,
 * because it would list what is switched off, and take its URLs from the request.
 */
export function serverMetadata(
  { origin, resource }: ServiceUrl,
  { registration, clientMetadata }: Record<'registration' | 'clientMetadata', boolean>,
): object {
  return {
    issuer: origin,
    authorization_endpoint: origin + paths.authorize,
    token_endpoint: origin + paths.token,
    jwks_uri: origin + paths.jwks,
    ...(registration && { registration_endpoint: origin + paths.register }),
    scopes_supported: [readScope],
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    token_endpoint_auth_methods_supported: clientAuthMethods,
    revocation_endpoint: origin + paths.revoke,
    revocation_endpoint_auth_methods_supported: clientAuthMethods,
    // OpenID Connect RP-Initiated Logout.
    end_session_endpoint: origin + paths.signOut,
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
    ...(clientMetadata && { client_id_metadata_document_supported: true }),
    protected_resources: [resource],
    service_documentation: `${origin}/docs`,
  };
}

/** The resource's own metadata (RFC 9728), which every 401 names (docs/rules.md#metadata). */
export function resourceMetadata({ origin, resource }: ServiceUrl): object {
  return {
    resource,
    authorization_servers: [origin],
    scopes_supported: [readScope],
    bearer_methods_supported: ['header'],
    resource_name: 'Ride Calendar',
    resource_documentation: `${origin}/docs`,
  };
}
