import * as oidc from 'openid-client';
import { isLoopback } from '../../messages/service-url.ts';

/** The ride-management system's OpenID Connect provider. */
export interface UpstreamSettings {
  issuer: string;
  clientId: string;
  clientSecret: string;
}

/** What has to be known again when the browser comes back. */
export interface UpstreamAttempt {
  state: string;
  nonce: string;
  codeVerifier: string;
}

/** The upstream provider cannot be reached, or has a fault of its own. */
export class UpstreamAwayError extends Error {
  override name = 'UpstreamAwayError';
}
/** The upstream provider did not let somebody in, or what the browser brought back fails a check. */
export class UpstreamRefusedError extends Error {
  override name = 'UpstreamRefusedError';
}

export const newAttempt = (): UpstreamAttempt => ({
  state: oidc.randomState(),
  nonce: oidc.randomNonce(),
  codeVerifier: oidc.randomPKCECodeVerifier(),
});

const timeoutSeconds = 10;
// The provider's metadata is fetched again this often, so that it can move its endpoints.
const freshMs = 3_600_000;

/**
 * Riders' sign-in at the upstream provider (docs/rules.md#identity): OpenID Connect's code flow with state, nonce and
 * PKCE, and a check of the ID token's signature. The provider's metadata is fetched at the first sign-in, so the
 * provider need not be there when the service starts.
 */
export function upstreamSignIn({ issuer, clientId, clientSecret }: UpstreamSettings, redirectUri: string) {
  const server = new URL(issuer);
  let known: { config: Promise<oidc.Configuration>; untilMs: number } | undefined;

  const configuration = async (): Promise<oidc.Configuration> => {
    if (!known || known.untilMs <= Date.now()) {
      const config = discover(server, clientId, clientSecret);
      known = { config, untilMs: Date.now() + freshMs };
      config.catch(() => {
        known = undefined;
      });
    }
    try {
      return await known.config;
    } catch (cause) {
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
        // A browser brought the authorization response, and anybody may have written it: it is kept out of the log.
        if (isAway(cause))
          throw new UpstreamAwayError(`Cannot redeem the code of SIGN_IN_ISSUER ${server.host} (${reason})`, {
            ...(!(cause instanceof oidc.AuthorizationResponseError) && { cause }),
          });
        throw new UpstreamRefusedError(`Sign-in refused by or for SIGN_IN_ISSUER ${server.host} (${reason})`);
      }
    },
  };
}

export type UpstreamSignIn = ReturnType<typeof upstreamSignIn>;

async function discover(server: URL, clientId: string, secret: string): Promise<oidc.Configuration> {
  // Settings allow http on this machine alone.
  const insecure = server.protocol === 'http:' && isLoopback(server.hostname);
  const found = await oidc.discovery(server, clientId, secret, undefined, {
    timeout: timeoutSeconds,
    ...(insecure && { execute: [oidc.allowInsecureRequests] }),
  });
  const metadata = found.serverMetadata();
  const methods = metadata.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
  const authentication = methods.includes('client_secret_basic')
    ? oidc.ClientSecretBasic(secret)
    : oidc.ClientSecretPost(secret);
  const config = new oidc.Configuration(metadata, clientId, { client_secret: secret }, authentication);
  config.timeout = timeoutSeconds;
  if (insecure) oidc.allowInsecureRequests(config);
  oidc.enableNonRepudiationChecks(config);
  return config;
}

/** The provider's error code, or openid-client's own; `other` for what has not the shape of one. */
function reasonOf(cause: unknown): string {
  const { error, code } = cause as { error?: string; code?: string };
  return error === undefined ? (code ?? 'unknown') : (/^[a-z_]{1,40}$/.exec(error)?.[0] ?? 'other');
}

/** Whether trying again may help: the fault is the provider's, not the rider's or the request's. */
function isAway(error: unknown): boolean {
  if (error instanceof oidc.AuthorizationResponseError) return error.error === 'temporarily_unavailable';
  if (error instanceof oidc.ResponseBodyError) return error.status >= 500;
  if (error instanceof oidc.ClientError) return error.code === 'OAUTH_TIMEOUT';
  // What fetch throws where nobody answers.
  return error instanceof TypeError;
}
