/** The one scope there is (docs/rules.md#scope). */
export const readScope = 'read';

/** Seconds that an access token lives (docs/rules.md#access-tokens). */
export const accessTokenSeconds = 600;
