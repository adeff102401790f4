import { connect, type Socket } from 'node:net';
import { afterAll, expect, it } from 'vitest';
import { registerSignIn } from '../../../api/sign-in/routes/register-sign-in.ts';
import { requestText, startHttpService } from '../../support/processes/http-service.ts';
import { parse } from '../../support/servers/raw-http.ts';
import { signInDeps } from '../../support/sign-in/sign-in-service.ts';
import { smallWorld, withKey } from '../../support/worlds/small-world.ts';
import { expectFailure } from './expect-failure.ts';

/** Requests that do not arrive: each connection is told and closed, whatever it trickles. */

const service = await startHttpService({
  // Long enough for a busy machine to deliver what does arrive.
  arrival: { timeoutMs: 2_000, checkEveryMs: 100 },
  register: async (app) => {
    await registerSignIn(app, await signInDeps('https://rides.example/api'));
  },
});
afterAll(() => service.close());

/** Sends what is given, then `drop` again and again, until the server ends the connection; what came. */
function untilClosed(first: string, drop: string): Promise<ReturnType<typeof parse>['answers']> {
  return new Promise((resolve) => {
    const received: Buffer[] = [];
    let dropping: NodeJS.Timeout | undefined;
    const socket: Socket = connect({ port: service.port, host: '127.0.0.1' }, () => {
      socket.write(first);
      if (drop) dropping = setInterval(() => socket.write(drop), 20);
    });
    const end = (): void => {
      clearInterval(dropping);
      socket.destroy();
      resolve(parse(Buffer.concat(received), ['GET', 'GET'], true).answers);
    };
    socket.on('data', (chunk: Buffer) => received.push(chunk));
    socket.on('end', end).on('close', end).on('error', end);
  });
}

const head = 'GET /api/rides/loop HTTP/1.1\r\nHost: rides.example\r\n';
const day = (more: Record<string, string> = {}, body = '') =>
  requestText('GET', `/api${smallWorld.day}`, { ...withKey(), ...more }, body);
const json = { 'Content-Type': 'application/json', 'Content-Length': '1000' };
const post = requestText('POST', '/oauth/register', json, 'a=b');

it.concurrent.each<[what: string, first: string, drop: string, statuses: number[]]>([
  ['stops in its first line', 'GET /api/ri', '', [408]],
  ['goes on byte by byte', `${head}X-Long: `, 'x', [408]],
  ['comes after one that was answered', day() + head, '', [200, 408]],
  ['has a body that goes on byte by byte', post, 'x', [408]],
  ['is the body of a read, which was answered before it', day({ 'Content-Length': '1000' }, 'a'), '', [200]],
])('a request that %s is told so, and its connection closed', async (_what, first, drop, statuses) => {
  const answers = await untilClosed(first, drop);
  expect(answers.map(({ status }) => status)).toEqual(statuses);
  for (const answer of answers.filter(({ status }) => status === 408)) {
    expectFailure(answer, 408, 'The request did not arrive in time.');
    expect(answer.headers.connection).toBe('close');
  }
});

it('a connection on which nothing comes at all is closed', async () => {
  expect((await untilClosed('', '')).every(({ status }) => status === 408)).toBe(true);
});
