import { randomUUID } from 'node:crypto';
import { SignJWT } from 'jose';
import { accessTokenSeconds, readScope, sampleClientId } from './access-token.ts';
import { privateKeyOf, type SigningKeys } from './signing-keys.ts';
import type { TokenCheckerOptions } from './token-checker.ts';

export interface SampleTokenOptions extends Pick<TokenCheckerOptions, 'issuer' | 'audience'> {
  /** Rider id. */
  rider: string;
  /** The first key signs. */
  keys: SigningKeys;
  /** By default that of a token from signing in. */
  lifetimeSeconds?: number;
}

/** An access token as the token endpoint issues it (RFC 9068), without signing in: for `npm start` and tests. */
export async function signSampleToken(options: SampleTokenOptions): Promise<string> {
  const { rider, keys, issuer, audience, lifetimeSeconds = accessTokenSeconds } = options;
  const now = Math.floor(Date.now() / 1000);
  return await new SignJWT({ scope: readScope, client_id: sampleClientId })
    .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: keys[0].kid })
    .setIssuer(issuer)
    .setAudience(audience)
    .setSubject(rider)
    .setJti(randomUUID())
    .setIssuedAt(now)
    .setExpirationTime(now + lifetimeSeconds)
    .sign(privateKeyOf(keys[0]));
}
