/** The only scope (docs/rules.md#scope). */
export const readScope = 'read';

/** What apps ask for to get refresh tokens. They get them anyway. */
export const offlineScope = 'offline_access';

/** Lifetime of an access token in seconds (docs/rules.md#access-tokens). */
export const accessTokenSeconds = 600;

/** How far the clocks of instances may be apart (docs/rules.md#access-tokens). */
export const clockToleranceSeconds = 60;

/** The client of tokens that were made without signing in. */
export const sampleClientId = 'sample';

/** The claim that names the grant an access token came of, so that it can be revoked (docs/rules.md#revocation). */
export const grantClaim = 'grant';
