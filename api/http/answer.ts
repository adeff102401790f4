/** An answer as it goes out; `app.ts` sends it. */
export interface Answer {
  status: number;
  headers: Record<string, string>;
  body: Buffer | null;
}

export const corsHeaders = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': 'ETag, WWW-Authenticate, Retry-After',
} as const;

/** A read that can't be answered now; sent as 503 (docs/rules.md#absence, #problems). */
export class UnavailableError extends Error {
  override name = 'UnavailableError';
}
