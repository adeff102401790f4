import { expect, test } from 'vitest';
import { StoreAwayError } from '../../../../api/ports/view-reader.ts';
import { memorySignInState } from '../../../../infra/memory/memory-sign-in-state.ts';
import { startSignInService } from '../../../support/sign-in/sign-in-service.ts';

let fault: Error;
const find = () => Promise.reject(fault);
const { origin, log } = await startSignInService({ store: { ...memorySignInState(), find } });

test.each([
  [new StoreAwayError('away'), 503, 'temporarily_unavailable', '5', 'Sign-in is not available right now', '60', 40],
  [new Error('a bug'), 500, 'server_error', null, 'Something went wrong here', null, 50],
])('of %s a program is told in JSON, a person by a page, and the log without a query: %i', async (...of) => {
  const [given, status, error, wait, title, pageWait, level] = of;
  fault = given;
  log.length = 0;
  const form = { grant_type: 'authorization_code', client_id: 'app', code: 'secret' };
  const token = await fetch(`${origin}/oauth/token?x=secret`, { method: 'POST', body: new URLSearchParams(form) });
  expect([token.status, await token.json(), token.headers.get('retry-after')]).toEqual([status, { error }, wait]);
  expect(token.headers.get('cache-control')).toBe('no-store');
  const page = await fetch(`${origin}/oauth/sign-out?client_id=secret`);
  expect([page.status, page.headers.get('retry-after')]).toEqual([status, pageWait]);
  expect(await page.text()).toContain(title);
  expect(log.map((line) => JSON.parse(line))).toMatchObject(
    ['token', 'sign-out'].map((name) => ({
      level,
      msg: expect.stringMatching(/^sign-in failed/),
      path: `/oauth/${name}`,
    })),
  );
  expect(log.join('')).not.toContain('secret');
  // An outage is met by every request, and is no error of this service.
  for (let i = 0; i < 25; i++) await fetch(`${origin}/oauth/sign-out?client_id=a`);
  expect(log.length).toBe(status === 503 ? 20 : 27);
});

test('a fault inside oidc-provider is a page with 500, and a line of the log', async () => {
  fault = new Error('a bug');
  log.length = 0;
  expect((await fetch(`${origin}/oauth/authorize?client_id=secret`)).status).toBe(500);
  expect(log.map((line) => JSON.parse(line))).toMatchObject([
    { level: 50, msg: 'sign-in failed', path: '/oauth/authorize' },
  ]);
});
