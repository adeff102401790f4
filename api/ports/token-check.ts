/**
 * Checks bearer tokens. `check` returns the id of the token's rider, or null for every token that is not live for this
 * resource with scope `read` (malformed, unsigned, foreign, expired, wrong audience or scope). The caller checks
 * against the views whether the rider still exists. It never throws because of a token. It is synchronous if the token
 * is in its cache, so that a cached public read needs no tick.
 */
export interface TokenChecker {
  check(token: string): string | null | Promise<string | null>;
}
