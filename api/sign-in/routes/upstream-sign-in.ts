import * as oidc from 'openid-client';
import { isLoopback } from '../../messages/service-url.ts';

/** The ride-management system's OpenID Connect provider. */
export interface UpstreamSettings {
  issuer: string;
  clientId: string;
  clientSecret: string;
}

/** The upstream provider cannot be reached, or has a fault of its own. */
export class UpstreamAwayError extends Error {
  override name = 'UpstreamAwayError';
}
/** The upstream provider says no to a person, or what the browser brought back fails a check. */
export class UpstreamRefusedError extends Error {
  override name = 'UpstreamRefusedError';
}

/** What has to be known again when the browser comes back. */
export const newAttempt = () => ({
  state: oidc.randomState(),
  nonce: oidc.randomNonce(),
  codeVerifier: oidc.randomPKCECodeVerifier(),
});

export type UpstreamAttempt = ReturnType<typeof newAttempt>;

const timeoutSeconds = 10;
// The provider's metadata is fetched again this often, and after a fault, so that it can move its endpoints.
const freshMs = 3_600_000;

/**
 * Riders' sign-in at the upstream provider (docs/rules.md#identity): OpenID Connect's code flow with state, nonce and
 * PKCE, and a check of the ID token's signature. The provider's metadata is fetched at the first sign-in, so the
 * provider need not be there when the service starts.
 */
export function upstreamSignIn({ issuer, clientId, clientSecret }: UpstreamSettings, redirectUri: string) {
  const server = new URL(issuer);
  let known: { metadata: Promise<oidc.ServerMetadata>; untilMs: number } | undefined;

  /** A new one each time, which fetches the provider's keys anew: it may just have rotated them. */
  const configuration = async (): Promise<oidc.Configuration> => {
    if (!known || known.untilMs <= performance.now())
      known = { metadata: discover(server, clientId, clientSecret), untilMs: performance.now() + freshMs };
    try {
      return configured(await known.metadata, server, clientId, clientSecret);
    } catch (cause) {
      known = undefined;
      throw new UpstreamAwayError(`Cannot read the metadata of SIGN_IN_ISSUER ${server.host}`, { cause });
    }
  };

  return {
    /** For pages: where riders sign in. */
    host: server.host,
    /** Where the browser is sent. Throws UpstreamAwayError. */
    async begin({ state, nonce, codeVerifier }: UpstreamAttempt, { newSignIn }: { newSignIn: boolean }): Promise<URL> {
      return oidc.buildAuthorizationUrl(await configuration(), {
        redirect_uri: redirectUri,
        scope: 'openid',
        state,
        nonce,
        code_challenge: await oidc.calculatePKCECodeChallenge(codeVerifier),
        code_challenge_method: 'S256',
        ...(newSignIn && { prompt: 'login' }),
      });
    },
    /** The `sub` of the rider who came back, all checks done. Throws UpstreamAwayError or UpstreamRefusedError. */
    async finish(callback: URL, { state, nonce, codeVerifier }: UpstreamAttempt): Promise<string> {
      const config = await configuration();
      let asked = false;
      config[oidc.customFetch] = (...request) => {
        asked = true;
        return fetch(...(request as Parameters<typeof fetch>));
      };
      try {
        const tokens = await oidc.authorizationCodeGrant(config, callback, {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: codeVerifier,
          idTokenExpected: true,
        });
        return tokens.claims()!.sub;
      } catch (cause) {
        const reason = reasonOf(cause);
        if (isRefusal(cause, asked))
          throw new UpstreamRefusedError(`Sign-in refused by or for SIGN_IN_ISSUER ${server.host} (${reason})`);
        // The metadata may have named a wrong endpoint, and be right by now.
        if (asked) known = undefined;
        // A browser brought the authorization response, and anybody may have written it: it is kept out of the log.
        throw new UpstreamAwayError(`Cannot finish a sign-in at SIGN_IN_ISSUER ${server.host} (${reason})`, {
          ...(!(cause instanceof oidc.AuthorizationResponseError) && { cause }),
        });
      }
    },
  };
}

export type UpstreamSignIn = ReturnType<typeof upstreamSignIn>;

// Settings allow http on this machine alone.
const isInsecure = (server: URL): boolean => server.protocol === 'http:' && isLoopback(server.hostname);

async function discover(server: URL, clientId: string, secret: string): Promise<oidc.ServerMetadata> {
  const found = await oidc.discovery(server, clientId, secret, undefined, {
    timeout: timeoutSeconds,
    ...(isInsecure(server) && { execute: [oidc.allowInsecureRequests] }),
  });
  const metadata = found.serverMetadata();
  // openid-client looks at these when it uses them. By then the metadata would have been kept for an hour.
  for (const member of ['authorization_endpoint', 'token_endpoint', 'jwks_uri'] as const) {
    const protocol = URL.parse(metadata[member] ?? '')?.protocol;
    if (protocol !== 'https:' && !(protocol === 'http:' && isInsecure(server)))
      throw new TypeError(`its ${member} is not there, or is no https address`);
  }
  return metadata;
}

function configured(metadata: oidc.ServerMetadata, server: URL, clientId: string, secret: string): oidc.Configuration {
  const methods = metadata.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
  const authentication = methods.includes('client_secret_basic')
    ? oidc.ClientSecretBasic(secret)
    : oidc.ClientSecretPost(secret);
  const config = new oidc.Configuration(metadata, clientId, { client_secret: secret }, authentication);
  config.timeout = timeoutSeconds;
  if (isInsecure(server)) oidc.allowInsecureRequests(config);
  oidc.enableNonRepudiationChecks(config);
  return config;
}

/** The provider's error code, or openid-client's own; `other` for what has not the shape of one. */
function reasonOf(cause: unknown): string {
  const { error, code } = cause as { error?: string; code?: string };
  return error === undefined ? (code ?? 'unknown') : (/^[a-z_]{1,40}$/.exec(error)?.[0] ?? 'other');
}

// What a provider says of itself, or of this service, whatever the status. The others are about what a browser brought.
const ownFaults: ReadonlySet<string> = new Set([
  'server_error',
  'temporarily_unavailable',
  'slow_down',
  'invalid_client',
  'unauthorized_client',
]);

/**
 * Whether an error is the provider's no to a rider, or about what the browser brought back. Any other is a fault of the
 * provider: a status of 500 and more, 429, an answer that is not OAuth's, no keys. `asked`: the provider was asked, so the
 * browser's answer had passed its checks.
 */
function isRefusal(error: unknown, asked: boolean): boolean {
  if (error instanceof oidc.AuthorizationResponseError) return !ownFaults.has(error.error);
  if (!asked) return error instanceof oidc.ClientError;
  if (error instanceof oidc.ResponseBodyError)
    return error.status < 500 && error.status !== 429 && !ownFaults.has(error.error);
  // The ID token of another sign-in.
  return ((error as Error).cause as { cause?: { claim?: string } } | undefined)?.cause?.claim === 'nonce';
}
