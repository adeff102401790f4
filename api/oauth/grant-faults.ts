import type { errors } from 'oidc-provider';
import type { AuditCause } from './audit-trail.ts';

interface GrantFault {
  cause: AuditCause<'token_request_refused'>;
  /** What the app is told. Null: no more than that the request is invalid. */
  words: string | null;
}

const after = 'ask the rider to sign in again';

/**
 * Why a code or refresh token was refused with `invalid_grant`, by the library's details. An app is told of its own codes and
 * tokens. Of any other it is told only if it has authenticated: else anybody could try what they found.
 */
export function grantFault(error: errors.OIDCProviderError, authenticated: boolean): GrantFault {
  const detail = error.error_detail ?? '';
  if (detail.includes('used already')) return { cause: 'grant_used', words: 'it was used already' };
  if (detail.includes('expired')) return { cause: 'grant_expired', words: `it has expired; ${after}` };
  if (/^grant not found|account not found|rider is gone/.test(detail))
    return { cause: 'grant_revoked', words: `its connection has ended; ${after}` };
  if (detail.includes('redirect_uri mismatch'))
    return { cause: 'grant_wrong', words: 'redirect_uri is not that of the authorization request' };
  if (error.cause instanceof Error) return { cause: 'grant_wrong', words: error.cause.message };
  return { cause: 'grant_wrong', words: authenticated ? 'it is not a code or refresh token of this client' : null };
}
