/**
 * Events for security reviews. Names and causes are stable, because alerts and searches rely on them
 * (docs/audit-trail.md). No event contains a token, a name or a rider's id.
 */
export const auditEvents = {
  sign_in: 'a rider proved who they are, or was picked',
  sign_in_refused: 'a rider came back from the sign-in provider and was not let in',
  consent: 'a rider allowed an app to read',
  consent_denied: 'a rider refused an app, or turned back before',
  disconnect: 'a rider disconnected an app on the page of connected apps',
  sign_out: 'a rider signed out',
  form_refused: 'a form came from another page than ours, or from an old one',
  client_registered: 'an app registered itself',
  tokens_issued: 'an app got tokens for a code or a refresh token',
  token_request_refused: 'a request at the token endpoint was refused',
  refresh_reused: 'a refresh token came again within ten seconds of its first use: a lost reply, or two tabs',
  replay_found:
    'a code or refresh token came again more than ten seconds after it was used: its app can refresh no more',
  grant_ended:
    'an app can refresh no more: by a replay, or because it revoked its token. Its access tokens live for up to ten minutes',
  token_refused: 'a request of the interface had an access token that is not live',
  unknown_key_used: 'an access token names a signing key that is not among ours: retired, or never ours',
} as const;

export type AuditEvent = keyof typeof auditEvents;

export interface AuditFacts {
  /** The app's client id. */
  client?: string | undefined;
  /** The reason, as one of a few stable words. */
  cause?: string;
}

/** Called for each security event. It never throws, and nothing waits for it. */
export type AuditTrail = (event: AuditEvent, facts?: AuditFacts) => void;

export const noAudit: AuditTrail = () => undefined;
