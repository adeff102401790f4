/** The one scope there is (docs/rules.md#scope). */
export const readScope = 'read';

/** Seconds that an access token lives. */
export const accessTokenSeconds = 600;
