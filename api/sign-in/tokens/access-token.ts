/** The only scope (docs/rules.md#scope). */
export const readScope = 'read';

/** Lifetime of an access token in seconds (docs/rules.md#access-tokens). */
export const accessTokenSeconds = 600;
