/** The rider that a bearer token belongs to. */
export interface TokenSubject {
  /** Rider id (`sub`). The caller checks against the views whether the rider still exists. */
  rider: string;
}

/**
 * Checks bearer tokens. `check` returns null for every token that is not live for this resource with scope `read`
 * (malformed, unsigned, foreign, expired, wrong audience or scope). It never throws because of a token. It is
 * synchronous if the token is in its cache, so that a cached public read needs no tick.
 */
export interface TokenChecker {
  check(token: string): TokenSubject | null | Promise<TokenSubject | null>;
}
