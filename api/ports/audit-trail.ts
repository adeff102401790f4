/**
 * Events for security reviews: when each happens, and the causes that it may have. Names and causes are stable, because
 * alerts and searches rely on them (docs/audit-trail.md). No event contains a token, a name or a rider's id.
 */
export const auditEvents = {
  sign_in: { when: 'a rider proved who they are, or was picked', causes: ['provider', 'picked'] },
  sign_in_refused: {
    when: 'a rider was not let in: the sign-in provider refused them or has a fault, or who came back is nobody here',
    causes: ['unknown_rider', 'provider', 'other_browser', 'upstream_unavailable'],
  },
  consent: { when: 'a rider allowed an app to read', causes: [] },
  consent_skipped: {
    when: 'an app of the operator’s file with `skip_consent` was connected without asking its rider',
    causes: [],
  },
  consent_denied: { when: 'a rider refused an app, or turned back before', causes: [] },
  disconnect: { when: 'a rider disconnected an app on the page of connected apps', causes: [] },
  sign_out: { when: 'a rider signed out', causes: [] },
  form_refused: { when: 'a form came from another page than ours', causes: [] },
  client_registered: { when: 'an app registered itself', causes: [] },
  tokens_issued: { when: 'an app got tokens for a code or a refresh token', causes: ['code', 'refresh_token'] },
  token_request_refused: {
    when: 'a request at the token endpoint was refused',
    causes: [
      'invalid_request',
      'invalid_client',
      'grant_wrong',
      'grant_used',
      'grant_expired',
      'grant_revoked',
      'invalid_scope',
      'invalid_target',
      'unauthorized_client',
      'unsupported_grant_type',
      'temporarily_unavailable',
      'server_error',
      'other',
    ],
  },
  refresh_reused: {
    when: 'a refresh token came again within ten seconds of its first use: a lost reply, or two tabs',
    causes: [],
  },
  refresh_limited: {
    when: 'one connection was refreshed more often than the limit: its app refreshes in a loop, or somebody else uses its tokens',
    causes: [],
  },
  replay_found: {
    when: 'a code or refresh token came again more than ten seconds after it was used: its app can refresh no more',
    causes: ['code', 'refresh_token'],
  },
  grant_ended: {
    when: 'an app can refresh no more: by a replay, or because it revoked its token. Its access tokens live for up to ten minutes',
    causes: ['replay', 'revoked'],
  },
  token_refused: {
    when: 'a request of the interface had an access token that is not live',
    causes: ['malformed', 'signature', 'expired', 'future', 'issuer', 'audience', 'scope'],
  },
  unknown_key_used: {
    when: 'an access token names a signing key that is not among ours: retired, or never ours',
    causes: ['unknown_key'],
  },
} as const;

type AuditEvent = keyof typeof auditEvents;
/** The words that an event's cause is one of. */
export type AuditCause<E extends AuditEvent> = (typeof auditEvents)[E]['causes'][number];

/** The app's client id, and the cause of an event that has some. */
type AuditFacts<E extends AuditEvent> = [AuditCause<E>] extends [never]
  ? [facts?: { client?: string | undefined }]
  : [facts: { client?: string | undefined; cause: AuditCause<E> }];

/** Called for each security event. It never throws, and nothing waits for it. */
export type AuditTrail = (...args: { [E in AuditEvent]: [event: E, ...AuditFacts<E>] }[AuditEvent]) => void;

export const noAudit: AuditTrail = () => undefined;
