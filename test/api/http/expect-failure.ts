import { expect } from 'vitest';
import { json } from '../../support/processes/http-service.ts';
import type { RawAnswer } from '../../support/servers/raw-http.ts';

/** What every failure has in common: problem details, not kept, open to pages of other origins. */
export function expectFailure(answer: RawAnswer, status: number, detail: unknown = expect.any(String)): void {
  expect(answer.status).toBe(status);
  expect(answer.headers).toMatchObject({
    date: expect.stringMatching(/ GMT$/),
    'content-type': 'application/problem+json',
    'cache-control': 'no-store',
    'access-control-allow-origin': '*',
    'access-control-expose-headers': 'ETag, WWW-Authenticate, Retry-After',
  });
  expect(json(answer)).toEqual({ title: answer.reason, status, detail });
}
