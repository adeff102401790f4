import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { registerDocs } from '../../../api/openapi/docs.ts';
import { registerSignIn } from '../../../api/sign-in/register-sign-in.ts';
import { type HttpService, requestText, startHttpService } from '../../support/http-service.ts';
import { signInDeps } from '../../support/sign-in-deps.ts';
import { smallWorld, withKey } from '../../support/small-world.ts';

/** A request gets the same answer however its bytes are cut, which the network decides. */

const arrival = { timeoutMs: 2_000, checkEveryMs: 100 };
let service: HttpService;
beforeAll(async () => {
  service = await startHttpService({
    arrival,
    register: async (app) => {
      registerDocs(app, { openapiUrl: 'https://rides.example/api/openapi.json', oauthClientId: 'docs' });
      await registerSignIn(app, await signInDeps('https://rides.example/api'));
    },
  });
});
afterAll(() => service.close());

/** All that comes back, until the server ends the connection; without the date. */
function answerTo(...pieces: string[]): Promise<string> {
  return new Promise((resolve) => {
    let received = '';
    const socket = connect(service.port, '127.0.0.1', async () => {
      socket.setNoDelay(true);
      for (const piece of pieces) {
        socket.write(Buffer.from(piece, 'latin1'));
        await sleep(10);
      }
    });
    socket.on('data', (data) => {
      received += data.toString('latin1');
    });
    socket.on('error', () => {});
    socket.on('close', () => resolve(received.replace(/^Date: .*\r\n/gm, '')));
  });
}

const head = (line: string, fields = 'Host: x\r\n') => `${line} HTTP/1.1\r\n${fields}\r\n`;
const day = `/api${smallWorld.day}`;

const requests: [status: number, bytes: string][] = [
  [404, head('FOO /nowhere')],
  [405, head('FOO /docs')],
  [405, head('FOO /oauth/token')],
  [405, head(`FOO ${day}`)],
  [405, head('GETS /docs')],
  [405, head('HEADY /docs')],
  [405, head('get /docs')],
  [400, head('FOO docs')],
  [400, head('FOO /docs', 'Host: x\r\nHost: y\r\n')],
  [400, head('FOO /docs', '')],
  [400, head('FOO /docs', 'Host x\r\n')],
  [404, head('GET /d\xf6cs')],
  [404, head('HEAD /d\xf6cs')],
  [405, head('POST /docs?x=\xe9')],
  [400, head(`GET ${day}?q=\xe9\xe9`, `Host: x\r\nX-Api-Key: ${smallWorld.liveKey}\r\n`)],
  [400, head(`HEAD ${day}?q=\xe9\xe9`, `Host: x\r\nX-Api-Key: ${smallWorld.liveKey}\r\n`)],
  [401, head(`GET ${day}?q=\xe9\xe9`)],
  [400, head('GET /docs', 'Host x\r\n')],
  [400, head('HEAD /docs', 'Host x\r\n')],
  [400, head('HEAD /docs', 'Host: x\r\nHost: y\r\nConnection: close\r\n')],
  [400, head('HEAD /docs', 'Host: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n')],
  [400, 'HEAD /docs HTTP/3.7\r\n\r\n'],
  [405, head('CONNECT rides.example:443')],
  [405, head('CONNECT /docs')],
  [404, head('CONNECT /nowhere')],
];

describe.concurrent.each(requests)('the %d to %j', (status, bytes) => {
  it('is the same wherever it is cut in two', async () => {
    const whole = await answerTo(bytes);
    expect(whole).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    const cuts = Array.from({ length: bytes.length - 1 }, (_, i) => i + 1);
    const answers = await Promise.all(cuts.map((cut) => answerTo(bytes.slice(0, cut), bytes.slice(cut))));
    for (const [i, answer] of answers.entries())
      expect([bytes.slice(0, cuts[i]), answer]).toEqual([bytes.slice(0, cuts[i]), whole]);
  });

  it('is the same byte by byte, and behind another request', async () => {
    const whole = await answerTo(bytes);
    expect(await answerTo(...bytes)).toBe(whole);
    const good = requestText('GET', day, withKey());
    const both = await answerTo(good + bytes);
    expect(both.endsWith(whole)).toBe(true);
    for (const cut of [1, 4, 9, bytes.length - 3])
      expect((await answerTo(good + bytes.slice(0, cut), bytes.slice(cut))).endsWith(whole)).toBe(true);
  });
});

const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
const chunked = { ...form, 'Transfer-Encoding': 'chunked' };
const get = requestText('GET', day, withKey());
const withBody = requestText('POST', '/oauth/token', form, 'grant_type=HEAD\r\n\r\nHEAD /docs');
const inChunks = requestText(
  'POST',
  '/oauth/token',
  chunked,
  '4\r\ngran\r\n00a;x=y\r\n=\r\n\r\nHEAD \r\n0\r\nX: y\r\n\r\n',
);
const before: [string, string][] = [
  ['a body', withBody],
  ['an empty body', requestText('POST', '/oauth/token', { ...form, 'Content-Length': '0' })],
  ['chunks', inChunks],
  ['bodies and reads in turn', get + withBody + get + get + inChunks + withBody + get],
  ['a body and an empty line', `${withBody}\r\n`],
];

describe('a head that is refused', () => {
  it.each(before)('behind %s is answered as in a packet of its own', async (_, earlier) => {
    for (const [, bytes] of requests) {
      const whole = await answerTo(bytes);
      const both = await answerTo(earlier + bytes);
      expect([bytes, both.slice(-whole.length)]).toEqual([bytes, whole]);
    }
  });

  it.each(before)('behind %s is answered so wherever all of it is cut', async (_, earlier) => {
    for (const bytes of [head('GET /docs', 'Host x\r\n'), head('HEAD /docs', 'Host x\r\n'), head('FOO /nowhere')]) {
      const whole = await answerTo(bytes);
      const all = earlier + bytes;
      const cuts = Array.from({ length: all.length - 1 }, (_, i) => i + 1).filter(
        (cut) => cut % 4 === 1 || all.length < 300,
      );
      const answers = await Promise.all(cuts.map((cut) => answerTo(all.slice(0, cut), all.slice(cut))));
      for (const [i, answer] of answers.entries())
        expect([all.slice(0, cuts[i]), answer.slice(-whole.length)]).toEqual([all.slice(0, cuts[i]), whole]);
      expect((await answerTo(...all.match(/[\s\S]{1,7}/g)!)).slice(-whole.length)).toBe(whole);
    }
  });
});

it('CONNECT is answered 405 with what its path takes', async () => {
  expect(await answerTo(head('CONNECT /docs'))).toContain('Allow: GET, HEAD\r\n');
  expect(await answerTo(head('CONNECT /oauth/token'))).toContain('Allow: POST, OPTIONS\r\n');
  expect(await answerTo(head(`CONNECT ${day}`))).toContain('Allow: GET, HEAD, OPTIONS\r\n');
  expect(await answerTo(head('CONNECT /nowhere'))).toContain('"not_found"');
  expect(await answerTo(head('CONNECT x:443', 'Host: x\r\nHost: y\r\n'))).toMatch(/^HTTP\/1\.1 400 /);
});

describe.concurrent('too large a head in small pieces', () => {
  const inPieces = (bytes: string): Promise<string> => answerTo(...(bytes.match(/[\s\S]{1,9000}/g) as string[]));

  it.each([40_000, 60_000, 120_000])('of %d bytes is answered as in one, with a body but to HEAD', async (bytes) => {
    const last = 'Host: x\r\nConnection: close\r\n';
    const long = `Host: x\r\nX-Long: ${'x'.repeat(bytes)}\r\n`;
    expect(await inPieces(head('GET /docs', long))).toMatch(/^HTTP\/1\.1 431 [\s\S]*"status":431/);
    expect(await inPieces(head('FOO /docs', long))).toMatch(/^HTTP\/1\.1 431 [\s\S]*"status":431/);
    expect(await inPieces(head('HEAD /docs', long))).toMatch(/^HTTP\/1\.1 431 [\s\S]*\r\n\r\n$/);
    expect(await inPieces(head(`GET /docs?${'x'.repeat(bytes)}`, last))).toMatch(/^HTTP\/1\.1 414 [\s\S]*"status":414/);
    expect(await inPieces(head(`FOO /docs?${'x'.repeat(bytes)}`, last))).toMatch(/^HTTP\/1\.1 414 [\s\S]*"status":414/);
    expect(await inPieces(head(`HEAD /docs?${'x'.repeat(bytes)}`, last))).toMatch(/^HTTP\/1\.1 414 [\s\S]*\r\n\r\n$/);
  });
});

describe.concurrent('a head that stops', () => {
  it.each(['GET /do', 'FOO /docs HTTP/1.1\r\n', 'FOO', 'GET /d\xf6', 'HEADY', 'POST', 'GET '])(
    '%j is answered 408 with a body',
    async (bytes) => {
      const answer = await answerTo(bytes);
      expect(answer).toMatch(/^HTTP\/1\.1 408 [\s\S]*"status":408/);
    },
  );

  it.each(['HEAD /docs HTTP/1.1\r\n', 'HEAD /do', 'HEAD ', 'HEAD', 'H', 'HEAD /d\xf6'])(
    '%j is answered 408 without a body',
    async (bytes) => {
      for (const answer of await Promise.all([answerTo(bytes), answerTo(...bytes)]))
        expect(answer).toMatch(/^HTTP\/1\.1 408 [\s\S]*\r\n\r\n$/);
    },
  );

  it('for its client has no more to send is malformed', async () => {
    const answer = await new Promise<string>((resolve) => {
      let received = '';
      const socket = connect({ port: service.port, host: '127.0.0.1', allowHalfOpen: true }, () =>
        socket.end('FOO /docs HTTP/1.1\r\n'),
      );
      socket.on('data', (data) => {
        received += data.toString('latin1');
      });
      socket.on('close', () => resolve(received));
    });
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
  });
});

it('nothing of this is a fault', () => {
  expect(service.faults).toEqual([]);
});
