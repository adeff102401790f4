import { afterEach, beforeEach, expect, it } from 'vitest';
import { redisViewReader } from '../../../../infra/redis/views/redis-view-reader.ts';
import { redisViewWriter } from '../../../../infra/redis/views/redis-view-writer.ts';
import { rideKey } from '../../../../schemas/views/view-kinds.ts';
import { ride } from '../../../reference/example-log.ts';
import { type HttpService, startHttpService } from '../../../support/processes/http-service.ts';
import { freshKeyPrefix, redisUrl } from '../../../support/servers/backends.ts';
import { type StallingProxy, stallingProxy } from '../../../support/servers/redis-proxies.ts';
import { smallWorld, withKey } from '../../../support/worlds/small-world.ts';

/**
 * The API's own copies of views against Redis's invalidation messages, over a real Redis, behind a proxy that can leave
 * connections half open.
 */

let proxy: StallingProxy;
let service: HttpService;
let beats: NodeJS.Timeout;

beforeEach(async () => {
  proxy = await stallingProxy(redisUrl());
  const keyPrefix = freshKeyPrefix();
  const writer = await redisViewWriter({ url: redisUrl(), cluster: false, keyPrefix });
  const reader = redisViewReader({ url: proxy.url, cluster: false, keyPrefix });
  service = await startHttpService({ views: { writer, reader } });
  await expect.poll(async () => (await reader.ready()).ready).toBe(true);
  // A projector's sign of life.
  beats = setInterval(() => service.projector.lanes.beat(), 200);
  await untilKept();
});
afterEach(async () => {
  clearInterval(beats);
  await service.projector.lanes.drain();
  await service.close();
  await proxy.close();
});

const loop = rideKey('loop');
const title = async (): Promise<string> => {
  const answer = await service.ask(smallWorld.ride, withKey());
  return answer.status === 200 ? JSON.parse(answer.body.toString()).title : String(answer.status);
};
const rename = (to: string): Promise<void> => service.publish([ride('loop', { title: to, leaders: ['ada'] })]);
/** What is asked for is kept: changes are heard. */
const untilKept = () =>
  expect.poll(async () => [await title(), service.cache.peek(loop)]).toEqual([expect.any(String), expect.anything()]);

it('a read among many, while views change all the time, is right once they no longer do', async () => {
  for (let round = 0; round < 4; round++) {
    let reading = true;
    const readers = Array.from({ length: 20 }, async () => {
      while (reading) await title();
    });
    for (let i = 0; i < 15; i++) await rename(`Round ${round}, title ${i}`);
    // What was filled against an invalidation would stay. A message may take some 60 ms on a busy machine.
    await expect.poll(title, { timeout: 1_000, interval: 5 }).toBe(`Round ${round}, title 14`);
    reading = false;
    await Promise.all(readers);
    expect(await title()).toBe(`Round ${round}, title 14`);
  }
});

it('a tracking connection that is half open is noticed: reads go past what is kept, and changes are heard again on a new one', async () => {
  proxy.stall('tracker');
  await rename('Unheard');
  await expect.poll(title, { timeout: 5_000 }).toBe('Unheard');
  expect(service.cache.peek(loop)).toBeUndefined();
  for (let i = 0; i < 20; i++) {
    await rename(`Unheard ${i}`);
    if (service.cache.peek(loop) === undefined) expect(await title()).toBe(`Unheard ${i}`);
  }
  await untilKept();
  await rename('Heard on a new connection');
  await expect.poll(title, { timeout: 1_000, interval: 5 }).toBe('Heard on a new connection');
});
