import type { StatePayload } from './state-store.ts';

interface Login {
  ts?: number;
}

/**
 * When what a rider has was given to them, in seconds: the sign-in that a session or a pending sign-in rests on, and
 * else the entry itself. 0, before everything, where that isn't known.
 */
export function issuedSeconds({ loginTs, iat, result, lastSubmission }: StatePayload): number {
  const loginOf = (submitted: unknown): number | undefined => (submitted as { login?: Login } | undefined)?.login?.ts;
  return Number(loginOf(result) ?? loginOf(lastSubmission) ?? loginTs ?? iat ?? 0);
}
