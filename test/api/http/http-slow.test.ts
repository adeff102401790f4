import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { registerSignIn } from '../../../api/sign-in/routes/register-sign-in.ts';
import { type HttpService, requestText, startHttpService } from '../../support/processes/http-service.ts';
import { parse, type RawAnswer } from '../../support/servers/raw-http.ts';
import { signInDeps } from '../../support/sign-in/sign-in-service.ts';
import { smallWorld, withKey } from '../../support/worlds/small-world.ts';

/** Requests that do not arrive: each connection is told and closed, whatever it trickles. */

let service: HttpService;
beforeAll(async () => {
  service = await startHttpService({
    // Long enough for a busy machine to deliver what does arrive.
    arrival: { timeoutMs: 2_000, checkEveryMs: 100 },
    register: async (app) => {
      await registerSignIn(app, await signInDeps('https://rides.example/api'));
    },
  });
});
afterAll(() => service.close());

/** Sends what is given, then `drop` again and again, until the server ends the connection; what came. */
function untilClosed(first: string, drop = ''): Promise<RawAnswer[]> {
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

const head = (target: string, fields = ''): string => `GET ${target} HTTP/1.1\r\nHost: rides.example\r\n${fields}`;

function expectTimeout(answer: RawAnswer | undefined): void {
  expect(answer?.status).toBe(408);
  expect(answer!.headers).toMatchObject({
    'content-type': 'application/problem+json',
    'cache-control': 'no-store',
    'access-control-allow-origin': '*',
    connection: 'close',
  });
  expect(JSON.parse(answer!.body.toString())).toEqual({
    title: 'Request Timeout',
    status: 408,
    detail: 'The request did not arrive in time.',
  });
}

describe.concurrent('a request that does not arrive in time', () => {
  it.each([
    ['that stops in its first line', 'GET /api/ri', ''],
    ['that goes on byte by byte', head('/api/rides/loop', 'X-Long: '), 'x'],
  ])('%s is answered 408, and its connection closed', async (_, first, drop) => {
    const answers = await untilClosed(first, drop);
    expect(answers).toHaveLength(1);
    expectTimeout(answers[0]);
  });

  it('after one that was answered is answered 408 in its turn', async () => {
    const good = requestText('GET', service.basePath + smallWorld.day, withKey());
    const answers = await untilClosed(good + head('/api/rides/loop'));
    expect(answers.map(({ status }) => status)).toEqual([200, 408]);
    expectTimeout(answers[1]);
  });

  it.each(['/oauth/token', '/oauth/revoke', '/oauth/register'])('whose body stops at %s ends', async (path) => {
    const type = path.endsWith('register') ? 'application/json' : 'application/x-www-form-urlencoded';
    const post = requestText('POST', path, { 'Content-Type': type, 'Content-Length': '1000' }, 'a=b');
    for (const answers of await Promise.all([untilClosed(post), untilClosed(post, 'x')])) {
      expect(answers).toHaveLength(1);
      expectTimeout(answers[0]);
    }
  });

  it('as the body of a read, which was answered before it, ends the connection', async () => {
    const get = requestText('GET', service.basePath + smallWorld.day, { ...withKey(), 'Content-Length': '1000' }, 'a');
    const [answer] = await untilClosed(get);
    expect(answer!.status).toBe(200);
  });

  it('and a connection on which nothing comes at all are closed', async () => {
    expect((await untilClosed('')).every(({ status }) => status === 408)).toBe(true);
  });
});
