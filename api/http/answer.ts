import type { ServerResponse } from 'node:http';

/** An answer as it goes out. */
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

/** Sends an answer. A HEAD's body is left out by node:http, its length is not (docs/rules.md#head). */
export function send(response: ServerResponse, { status, headers, body }: Answer): void {
  if (body) headers['Content-Length'] = String(body.length);
  else if (status !== 204 && status !== 304) headers['Content-Length'] = '0';
  response.writeHead(status, headers);
  response.end(body ?? undefined);
}
