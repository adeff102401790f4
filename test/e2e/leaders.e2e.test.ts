import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type RedisServer, startRedisServer } from '../../infra/local/redis-server.ts';
import { parseFence, redisKeys } from '../../infra/redis/redis-keys.ts';
import { beatMs } from '../../projector/ports/leading.ts';
import { Processes, type RunningService } from '../support/processes/process.ts';
import { less, redisUse } from '../support/servers/redis-use.ts';
import { type StallingProxy, stallingProxy } from '../support/servers/stalling-proxy.ts';
import { PortlandInKafka } from '../support/worlds/portland-in-kafka.ts';
import { CountedRide, countIn, watchCount } from './counted-ride.ts';

// Two projectors over one Redis, as they are run: one leads, the other stands by. A reader asks for one ride all the
// while, whose title counts up: no answer is older than the one before.

const processes = new Processes();
let redis: RedisServer;
let proxy: StallingProxy;
let portland: PortlandInKafka;
let ride: CountedRide;
let api: RunningService;
let leader: RunningService;
let standby: RunningService;

beforeAll(async () => {
  portland = await PortlandInKafka.load();
  ride = new CountedRide(portland);
  redis = await startRedisServer();
  proxy = await stallingProxy(redis.url);
  api = await startApi();
  leader = await startProjector();
  await leader.printed('Ready: ');
  standby = await startProjector();
  await Promise.all([api.ready(), standby.ready()]);
});
afterAll(async () => {
  await processes.close();
  await proxy.close();
  await portland.close();
  await redis.stop();
});

const startApi = () => processes.start('api', { REDIS_URL: redis.url, NOW: '2015-06-13T19:00:00Z' });
const startProjector = () => processes.start('projector', { ...portland.env, REDIS_URL: proxy.url });
const publish = () => ride.publish();
const isReadable = (wanted: number) => expect.poll(() => countIn(api), { timeout: 20_000, interval: 20 }).toBe(wanted);
const terms = ({ out, err }: RunningService): number => (out() + err()).split('"Leading:').length - 1;
const compares = ({ out, err }: RunningService): boolean => (out() + err()).includes('Compared ');
const leads = async ({ origin }: RunningService): Promise<boolean> =>
  (await (await fetch(`${origin}/metrics`)).text()).includes('ride_calendar_role{role="leader"} 1');

// P64; docs/performance.md. Where each tag beats by itself it is 1,900 commands and 326 kB.
it('two projectors and two APIs to whom nothing happens ask little of Redis, counted by the beats of the leader', async () => {
  const second = await (await startApi()).ready();
  const client = new Redis(redis.url);
  const { fence } = redisKeys('ride-calendar:');
  const beats = async (): Promise<number> => parseFence((await client.get(fence(0))) ?? '').sequence;
  const after = async (count: number): Promise<void> => {
    const wanted = (await beats()) + count;
    await expect.poll(beats, { timeout: 60_000, interval: 100 }).toBeGreaterThanOrEqual(wanted);
  };
  // What begins with a start is over.
  await after(10);
  const [others, before] = [await client.mget([1, 31, 63].map(fence)), await redisUse(client)];
  const begun = await beats();
  await after(20);
  const { commands, bytes } = less(await redisUse(client), before);
  const perSecond = 1_000 / beatMs / ((await beats()) - begun);
  console.log(`Idle: ${Math.round(commands * perSecond)} commands and ${Math.round(bytes * perSecond)} bytes a second`);
  expect(await client.mget([1, 31, 63].map(fence))).toEqual(others);
  // The beats are looked at ten times a second.
  expect(commands * perSecond).toBeLessThan(250);
  expect(bytes * perSecond).toBeLessThan(25_000);
  client.disconnect();
  await second.kill();
});

// docs/rules.md#take-over, #beginning
it('two projectors go on without a comparison when the leader is told to stop or killed, at last over a slow line to Redis, and no reader sees an older answer', async () => {
  const reader = watchCount(api);
  for (const [signal, slowMs] of [
    ['SIGTERM', 0],
    ['SIGKILL', 0],
    ['SIGKILL', 400],
  ] as const) {
    await isReadable(await publish());
    proxy.slow(slowMs);
    const signalledMs = performance.now();
    const ending = signal === 'SIGTERM' ? leader.stop() : leader.kill();
    const [{ code }, changed] = await Promise.all([ending, publish()]);
    // Over the slow line it takes 6 to 8 s; on a busy machine some looks take too long to count.
    await expect.poll(() => leads(standby), { timeout: 60_000 }).toBe(true);
    await isReadable(changed);
    console.log(`Readable again ${Math.round(performance.now() - signalledMs)} ms after a ${signal} of the leader`);
    expect([code, terms(standby), compares(standby)]).toEqual([signal === 'SIGTERM' ? 0 : null, 1, false]);
    expect(standby.out() + standby.err()).not.toContain('TimeoutNegativeWarning');
    leader = standby;
    if (slowMs === 0) standby = await (await startProjector()).ready();
  }
  await reader.end();
}, 240_000);
