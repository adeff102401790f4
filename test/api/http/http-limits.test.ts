import { afterAll, expect, it } from 'vitest';
import { requestText, startHttpService } from '../../support/processes/http-service.ts';
import { everyOperation, smallWorld, withKey, withToken } from '../../support/worlds/small-world.ts';
import { expectFailure } from './expect-failure.ts';

/** Sizes, old HTTP and connections (docs/rules.md#long-urls, #problems), over sockets. */

const service = await startHttpService();
afterAll(() => service.close());

const dayTarget = `/api${smallWorld.day}`;
const good = requestText('GET', dayTarget, withKey());

/** A target of exactly so many bytes. */
const targetOf = (bytes: number, start: string): string => start.padEnd(bytes, 'x');

it.each(everyOperation)('a URL of 8,000 bytes works, and one byte more is 414: $name', async ({ path, headers }) => {
  const start = `/api${path}${path.includes('?') ? '&' : '?'}utm=`;
  expect((await service.exchange(requestText('GET', targetOf(8_000, start), headers))).status).toBe(200);
  const longer = await service.exchange(requestText('GET', targetOf(8_001, start), headers));
  expectFailure(longer, 414, 'URLs of up to 8,000 bytes are read.');
});

it.each([
  [1_000, 200],
  [1_001, 431],
])('%d header fields are answered %d', async (count, status) => {
  const others = Array.from({ length: count - 2 }, (_, i) => `X-${i}: x\r\n`).join('');
  const request = `GET ${dayTarget} HTTP/1.1\r\nHost: x\r\n${others}X-Api-Key: ${smallWorld.liveKey}\r\n\r\n`;
  expect((await service.exchange(request)).status).toBe(status);
});

it('while the service stops, a request on a connection that is open is answered, and told to close', async () => {
  const held: (() => void)[] = [];
  const checker = { check: () => new Promise<string>((resolve) => held.push(() => resolve('ada'))) };
  const stopping = await startHttpService({ checker });
  const slow = requestText('GET', '/api/me/nights', withToken());
  const both = stopping.converse(slow, { later: [good] });
  while (held.length === 0) await new Promise(setImmediate);
  const closed = stopping.app.close();
  await new Promise(setImmediate);
  held[0]!();
  const { answers } = await both;
  expect(answers.map(({ status, headers }) => [status, headers.connection])).toEqual([
    [200, 'keep-alive'],
    [200, 'close'],
  ]);
  await closed;
});
