import { hash, type KeyObject } from 'node:crypto';
import { errors, type JWTHeaderParameters, type JWTPayload, type JWTVerifyOptions, jwtVerify } from 'jose';
import { idPattern } from '../../../schemas/events/patterns.ts';
import { type AuditCause, type AuditTrail, noAudit } from '../../ports/audit-trail.ts';
import type { TokenChecker } from '../../ports/token-check.ts';
import { accessTokenSeconds, clockToleranceSeconds, readScope, sampleClientId } from './access-token.ts';
import { publicKeyOf, type SigningKey } from './signing-keys.ts';

export interface TokenCheckerOptions {
  /** Origin of BASE_URL. */
  issuer: string;
  /** BASE_URL without a trailing slash. */
  audience: string;
  /** Only their public parts are used. */
  keys: readonly SigningKey[];
  /** At most this many verified tokens are cached: about 200 bytes each. */
  cacheSizeMax?: number;
  /** Called for each token that is refused, with the reason. */
  audit?: AuditTrail;
  /** The real clock, in milliseconds. */
  nowMs?: () => number;
}

// Our tokens have about 600 characters. Anything longer than this is not worth hashing.
const tokenLengthMax = 4096;

interface Verified {
  rider: string;
  /** Before this, the clock that made it was fast (docs/rules.md#access-tokens). */
  earliestMs: number;
  expMs: number;
}

const timeFault = ({ earliestMs, expMs }: Verified, nowMs: number): 'future' | 'expired' | null =>
  nowMs < earliestMs ? 'future' : nowMs < expMs ? null : 'expired';

/** The claims of an access token of ours, once its signature and what `options` want are checked. Throws otherwise. */
export async function verifyAccessToken(
  token: string,
  keys: ReadonlyMap<string, KeyObject>,
  options: JWTVerifyOptions,
): Promise<JWTPayload> {
  const keyOf = ({ kid }: JWTHeaderParameters): KeyObject => {
    const key = keys.get(kid ?? '');
    if (key === undefined) throw new errors.JWKSNoMatchingKey();
    return key;
  };
  const { payload } = await jwtVerify(token, keyOf, { algorithms: ['ES256'], typ: 'at+jwt', ...options });
  return payload;
}

/** What tokens that these keys signed are verified with. */
export const keysById = (keys: readonly SigningKey[]): Map<string, KeyObject> =>
  new Map(keys.map((key) => [key.kid, publicKeyOf(key)]));

/**
 * Checks access tokens without any I/O (docs/rules.md#live-token): RFC 9068 access tokens (typ at+jwt), ES256 with one
 * of our keys, `iss`, `aud`, `exp` and scope `read`. Whether the rider exists is in the views, not in a token.
 * Verifying a signature costs 17 times a look-up of a view, so verified tokens are cached by their hash until their
 * `exp`, at most `cacheSizeMax` of them.
 */
export function createTokenChecker(options: TokenCheckerOptions): TokenChecker {
  const { issuer, audience, audit = noAudit, cacheSizeMax = 10_000, nowMs = Date.now } = options;
  const keys = keysById(options.keys);
  const cache = new Map<string, Verified>();

  const refused = (cause: TokenRefusal): null => {
    if (cause === 'unknown_key') audit('unknown_key_used', { cause });
    else audit('token_refused', { cause });
    return null;
  };

  const verify = async (token: string, tokenHash: string): Promise<string | null> => {
    try {
      const { sub, iat, exp, scope, client_id } = await verifyAccessToken(token, keys, {
        issuer,
        audience,
        requiredClaims: ['sub', 'iat', 'exp', 'scope', 'client_id'],
        currentDate: new Date(nowMs()),
      });
      if (typeof sub !== 'string' || !idPattern.test(sub)) return refused('malformed');
      // A clock that was fast may have made it. A token made to try the service out says itself how long it lives.
      const verified = { rider: sub, earliestMs: (iat! - clockToleranceSeconds) * 1000, expMs: exp! * 1000 };
      if (client_id !== sampleClientId) verified.expMs = Math.min(verified.expMs, (iat! + accessTokenSeconds) * 1000);
      const fault = timeFault(verified, nowMs());
      if (fault !== null) return refused(fault);
      if (typeof scope !== 'string' || !scope.split(' ').includes(readScope)) return refused('scope');
      // The oldest makes room.
      if (cache.size >= cacheSizeMax) cache.delete(cache.keys().next().value!);
      cache.set(tokenHash, verified);
      return sub;
    } catch (error) {
      // The token is not live, whatever is wrong with it. The reason is not disclosed to the caller.
      return refused(refusalOf(error));
    }
  };

  return {
    check(token) {
      if (token.length > tokenLengthMax) return refused('malformed');
      const tokenHash = hash('sha256', token, 'base64url');
      const known = cache.get(tokenHash);
      if (known !== undefined) {
        const fault = timeFault(known, nowMs());
        if (fault === null) return known.rider;
        cache.delete(tokenHash);
        return refused(fault);
      }
      return verify(token, tokenHash);
    },
  };
}

/** Why an access token is not live, in the audit trail's words. */
type TokenRefusal = AuditCause<'token_refused' | 'unknown_key_used'>;

function refusalOf(error: unknown): TokenRefusal {
  if (error instanceof errors.JWKSNoMatchingKey) return 'unknown_key';
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'signature';
  if (error instanceof errors.JWTExpired) return 'expired';
  if (error instanceof errors.JWTClaimValidationFailed && error.claim === 'iss') return 'issuer';
  if (error instanceof errors.JWTClaimValidationFailed && error.claim === 'aud') return 'audience';
  return 'malformed';
}
