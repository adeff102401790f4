import type { StatePayload } from './state-store.ts';

interface Login {
  ts?: number;
}

/**
 * When a stored entry was issued to its rider, in seconds: the time of the sign-in that a session or pending sign-in
 * rests on, else of the entry itself. 0, which is before everything, if unknown.
 */
export function issuedSeconds({ loginTs, iat, result, lastSubmission }: StatePayload): number {
  const loginOf = (submitted: unknown): number | undefined => (submitted as { login?: Login } | undefined)?.login?.ts;
  return Number(loginOf(result) ?? loginOf(lastSubmission) ?? loginTs ?? iat ?? 0);
}
