import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type RedisServer, startRedisServer } from '../../infra/local/redis-server.ts';
import { viewFormat } from '../../schemas/views/view-keys.ts';
import { runCli } from '../../services/command-line.ts';
import { heard } from '../support/processes/heard.ts';
import { nextFormat, nextVersion } from '../support/processes/next-version.ts';
import { Processes } from '../support/processes/process.ts';
import { PortlandInKafka } from '../support/worlds/portland-in-kafka.ts';
import { CountedRide, countIn, watchCount } from './counted-ride.ts';

// An upgrade to a new view format and back, as docs/tasks.md has it: processes of two versions over one Redis, while
// the title of one ride counts up four times a second and every API is asked for it all the while.

const old = new Processes();
let next: Processes;
let redis: RedisServer;
let admin: Redis;
let portland: PortlandInKafka;
let ride: CountedRide;
const stopLoad = new AbortController();
let load: Promise<void>;

beforeAll(async () => {
  const folder = await old.folder();
  next = new Processes(await nextVersion(join(folder, 'next')));
  portland = await PortlandInKafka.load();
  ride = new CountedRide(portland);
  redis = await startRedisServer();
  admin = new Redis(redis.url);
  load = publishing();
});
afterAll(async () => {
  stopLoad.abort();
  await load;
  admin.disconnect();
  await Promise.all([old.close(), next.close(), portland.close()]);
  await redis.stop();
});

async function publishing(): Promise<void> {
  while (!stopLoad.signal.aborted) {
    await ride.publish();
    await sleep(250);
  }
}

const startProjector = (of: Processes) => of.start('projector', { ...portland.env, REDIS_URL: redis.url });
const startApi = (of: Processes) => of.start('api', { REDIS_URL: redis.url, NOW: '2015-06-13T19:00:00Z' });
const keysOf = async (format: number): Promise<number> => (await admin.keys(`ride-calendar:g${format}:*`)).length;

const generations = (...args: string[]) =>
  heard((io) => runCli(['generations', ...args, '--json'], io, { REDIS_URL: redis.url, LOG_LEVEL: 'error' }));

it('an upgrade of the view format under load, and the way back, fail no read and show nothing older', async () => {
  const [oldProjector, oldApi] = await Promise.all([startProjector(old), startApi(old)]);
  await Promise.all([oldProjector.ready(), oldApi.ready()]);
  const oldReads = watchCount(oldApi, { from: 1, always: true });

  // New projector beside the old, then the API: it serves nothing before its views are there.
  const newApi = await startApi(next);
  const newProjector = await startProjector(next);
  await newProjector.ready();
  const atSwitch = oldReads.last;
  await newApi.ready();
  const newReads = watchCount(newApi, { from: atSwitch, always: true });
  await sleep(1_000);
  await oldReads.end();
  await Promise.all([oldApi.stop(), oldProjector.stop()]);
  const { out } = await generations('list');
  expect(JSON.parse(out[0]!).generations).toMatchObject([
    { generation: viewFormat, parts_unled: 64, leaders: [] },
    { generation: nextFormat, parts_unled: 0, leaders: [{ parts: 64, alive: true }] },
  ]);

  // Later the old version is started again, its API first. It does not serve what it showed when it ended.
  const back = await startApi(old);
  await back.printed(`views of format ${nextFormat}`);
  for (let i = 0; i < 20; i++) {
    expect(await countIn(back)).toBeNull();
    await sleep(50);
  }
  const beforeBack = newReads.last;
  const again = await startProjector(old);
  await back.ready();
  const backReads = watchCount(back, { from: beforeBack, always: true });
  expect(await generations('drop', String(nextFormat))).toMatchObject({
    code: 1,
    err: [expect.stringContaining('stop it first')],
  });
  await newReads.end();
  await Promise.all([newApi.stop(), newProjector.stop()]);
  expect((await generations('drop', String(nextFormat))).code).toBe(0);
  expect([await keysOf(nextFormat), (await keysOf(viewFormat)) > 1_000]).toEqual([0, true]);
  const upTo = ride.count;
  await expect.poll(() => backReads.last, { timeout: 10_000 }).toBeGreaterThanOrEqual(upTo);
  await backReads.end();
  await Promise.all([back.stop(), again.stop()]);
}, 240_000);
