import { expect, it } from 'vitest';
import { registerSignIn } from '../../../api/sign-in/routes/register-sign-in.ts';
import { requestText, startHttpService } from '../../support/processes/http-service.ts';
import { signInDeps } from '../../support/sign-in/sign-in-service.ts';
import { smallWorld, withKey } from '../../support/worlds/small-world.ts';
import { expectFailure } from './expect-failure.ts';

/** Requests that do not arrive: each connection is told and closed. */

const service = await startHttpService({
  // Long enough for a busy machine to deliver what does arrive.
  arrival: { timeoutMs: 2_000, checkEveryMs: 100 },
  register: async (app) => {
    await registerSignIn(app, await signInDeps('https://rides.example/api'));
  },
});

const head = 'GET /api/rides/loop HTTP/1.1\r\nHost: rides.example\r\n';
const day = (more: Record<string, string> = {}, body = '') =>
  requestText('GET', `/api${smallWorld.day}`, { ...withKey(), ...more }, body);
const json = { 'Content-Type': 'application/json', 'Content-Length': '1000' };
const post = requestText('POST', '/oauth/register', json, 'a=b');

it.concurrent.each<[what: string, bytes: string, statuses: number[]]>([
  ['stops in its first line', 'GET /api/ri', [408]],
  ['comes after one that was answered', day() + head, [200, 408]],
  ['has a body that stops', post, [408]],
  ['is the body of a read, which was answered before it', day({ 'Content-Length': '1000' }, 'a'), [200]],
  ['never begins', '', [408]],
])('a request that %s is told so, and its connection closed', async (_what, bytes, statuses) => {
  const { answers, closed } = await service.converse(bytes, { methods: ['GET', 'GET'], answers: 3 });
  expect([answers.map(({ status }) => status), closed]).toEqual([statuses, true]);
  for (const answer of answers.filter(({ status }) => status === 408)) {
    expectFailure(answer, 408, 'The request did not arrive in time.');
    expect(answer.headers.connection).toBe('close');
  }
});
