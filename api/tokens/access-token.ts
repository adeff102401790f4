/** Who a bearer token speaks for. */
export interface TokenSubject {
  /** Rider id (`sub`). Whether the rider still exists is checked by the caller against the views. */
  rider: string;
}

/**
 * Checks bearer tokens. `check` answers null for every token that is not live for this resource with scope `read`
 * (malformed, unsigned, foreign, expired, wrong audience or scope); it never throws for a token's sake. Synchronous
 * when the token is in its cache, so that a cached public read needs no tick.
 */
export interface TokenChecker {
  check(token: string): TokenSubject | null | Promise<TokenSubject | null>;
}
