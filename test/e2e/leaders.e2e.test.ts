import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { Redis } from 'ioredis';
import { beforeAll, expect, it, vi } from 'vitest';
import { type RedisServer, startRedisServer } from '../../infra/local/redis-server.ts';
import { parseFence, redisKeys } from '../../infra/redis/redis-keys.ts';
import { beatMs } from '../../projector/ports/leading.ts';
import { nextFormat, nextVersion } from '../support/processes/next-version.ts';
import { Processes, type RunningService } from '../support/processes/process.ts';
import { testStack } from '../support/processes/test-stack.ts';
import { TestKafka } from '../support/servers/kafka.ts';
import { less, redisUse } from '../support/servers/redis-use.ts';
import { countedRide, countIn, watchCount } from './counted-ride.ts';

// Projectors over one Redis, as they are run: one leads, another stands by, one of a later version takes over and gives back. Readers
// ask for one ride all the while, whose title counts up: no answer is older than the one before.

const open = testStack();
const kafka = open.use(new TestKafka());
let redis: RedisServer;
const old = open.use(new Processes());
let next: Processes;
let ride: Awaited<ReturnType<typeof countedRide>>;
let api: RunningService;
let leader: RunningService;
let standby: RunningService;

beforeAll(async () => {
  next = open.use(new Processes(await nextVersion(join(await old.folder(), 'next'))));
  ride = await countedRide(kafka);
  redis = open.adopt(await startRedisServer(), (each) => each.stop());
  api = await startApi(old);
  leader = await startProjector(old);
  await leader.printed('Ready: ');
  standby = await startProjector(old);
  await Promise.all([api.ready(), standby.ready()]);
});

const startApi = (of: Processes) => of.start('api', { REDIS_URL: redis.url });
const startProjector = (of: Processes) =>
  of.start('projector', { ...kafka.env, KAFKA_GROUP: kafka.topicPrefix, REDIS_URL: redis.url });
const isReadable = (wanted: number) => expect.poll(() => countIn(api), { interval: 20 }).toBe(wanted);
const leads = async ({ origin }: RunningService): Promise<boolean> =>
  (await (await fetch(`${origin}/metrics`)).text()).includes('ride_calendar_role{role="leader"} 1');

// P64; docs/performance.md. Where each tag beats by itself it is 1,900 commands and 326 kB.
it('two projectors and an API to whom nothing happens ask little of Redis, counted by the beats of the leader', async () => {
  const client = new Redis(redis.url);
  const { fence } = redisKeys('ride-calendar:');
  const beats = async (): Promise<number> => parseFence((await client.get(fence(0))) ?? '').sequence;
  const after = async (count: number): Promise<void> => {
    const wanted = (await beats()) + count;
    await expect.poll(beats, { interval: 100 }).toBeGreaterThanOrEqual(wanted);
  };
  const fences = () => client.mget([1, 31, 63].map(fence));
  /** What ten beats took; null if a tag noted something meanwhile, as it does after a start, for longer on a slow machine. */
  const idleBeats = async () => {
    const [others, before, begun] = [await fences(), await redisUse(client), await beats()];
    await after(10);
    const { commands, bytes } = less(await redisUse(client), before);
    const perSecond = 1_000 / beatMs / ((await beats()) - begun);
    return isDeepStrictEqual(await fences(), others)
      ? { commands: commands * perSecond, bytes: bytes * perSecond }
      : null;
  };
  const { commands, bytes } = (await vi.waitUntil(idleBeats, { timeout: 60_000 }))!;
  console.log(`Idle: ${Math.round(commands)} commands and ${Math.round(bytes)} bytes a second`);
  // The beats are looked at ten times a second.
  expect(commands).toBeLessThan(250);
  expect(bytes).toBeLessThan(25_000);
  client.disconnect();
});

// docs/rules.md#take-over, #beginning
it('two projectors go on without a comparison when the leader is told to stop or killed, and no reader sees an older answer', async () => {
  const reader = watchCount(api);
  for (const signal of ['SIGTERM', 'SIGKILL']) {
    await isReadable(await ride.publish());
    const signalledMs = performance.now();
    const ending = signal === 'SIGTERM' ? leader.stop() : leader.kill();
    const [{ code }, changed] = await Promise.all([ending, ride.publish()]);
    await expect.poll(() => leads(standby)).toBe(true);
    await isReadable(changed);
    console.log(`Readable again ${Math.round(performance.now() - signalledMs)} ms after a ${signal} of the leader`);
    const said = standby.out() + standby.err();
    expect([code, said.match(/"Leading:/g)?.length]).toEqual([signal === 'SIGTERM' ? 0 : null, 1]);
    expect(said).not.toContain('Compared ');
    leader = standby;
    if (signal === 'SIGTERM') standby = await (await startProjector(old)).ready();
  }
  await reader.end();
});

it('an upgrade of the view format under load, and the way back, fail no read and show nothing older than the start of who takes over', async () => {
  const ended = new AbortController();
  const load = (async () => {
    for (; !ended.signal.aborted; await sleep(250)) await ride.publish();
  })();
  const oldReads = watchCount(api, { always: true });

  // New projector beside the old, then the API: it serves nothing before its views are there.
  const newApi = await startApi(next);
  // A projector is ready once its views are as new as the log was when it started (P23); from then on it may be moments behind the old.
  const atStart = oldReads.last();
  const newProjector = await (await startProjector(next)).ready();
  await newApi.ready();
  const newReads = watchCount(newApi, { from: atStart, always: true });
  await sleep(500);
  await oldReads.end();
  await Promise.all([api.stop(), leader.stop()]);

  // Later the old version is started again, its API first. It does not serve what it showed when it ended.
  const back = await startApi(old);
  await back.printed(`views of format ${nextFormat}`);
  for (let i = 0; i < 10; i++) {
    expect(await countIn(back)).toBeNull();
    await sleep(50);
  }
  const beforeBack = newReads.last();
  const again = await startProjector(old);
  await back.ready();
  const backReads = watchCount(back, { from: beforeBack, always: true });
  await newReads.end();
  await Promise.all([newApi.stop(), newProjector.stop()]);
  const upTo = ride.count();
  await expect.poll(backReads.last).toBeGreaterThanOrEqual(upTo);
  await backReads.end();
  await Promise.all([back.stop(), again.stop()]);
  ended.abort();
  await load;
});
