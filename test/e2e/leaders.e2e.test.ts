import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type RedisServer, startRedisServer } from '../../infra/local/redis-server.ts';
import { Processes, type RunningService } from '../support/processes/process.ts';
import { stallingProxy } from '../support/servers/stalling-proxy.ts';
import { PortlandInKafka } from '../support/worlds/portland-in-kafka.ts';
import { CountedRide, countIn, watchCount } from './counted-ride.ts';

// Two projectors over one Redis, as they are run: one leads, the other stands by. A reader asks for one ride all the
// while, whose title counts up: no answer is older than the one before.

const processes = new Processes();
let redis: RedisServer;
let admin: Redis;
let portland: PortlandInKafka;
let ride: CountedRide;
let api: RunningService;
const running: RunningService[] = [];

beforeAll(async () => {
  portland = await PortlandInKafka.load();
  ride = new CountedRide(portland);
});
beforeEach(async () => {
  redis = await startRedisServer();
  admin = new Redis(redis.url, { maxRetriesPerRequest: null });
  admin.on('error', () => undefined);
  api = await processes.start('api', { REDIS_URL: redis.url, NOW: '2015-06-13T19:00:00Z' });
});
afterEach(async () => {
  for (const each of [...running.splice(0), api]) if (!each.hasEnded()) await each.kill();
  admin.disconnect();
  await redis.stop();
});
afterAll(async () => {
  await processes.close();
  await portland.close();
});

async function startProjector(url = redis.url): Promise<RunningService> {
  const projector = await processes.start('projector', { ...portland.env, REDIS_URL: url });
  running.push(projector);
  return projector;
}

/** A leader, and a standby that is folded. */
async function pair(url = redis.url): Promise<[leader: RunningService, standby: RunningService]> {
  const leader = await startProjector(url);
  await leader.printed('Ready: ');
  const standby = await startProjector(url);
  await standby.ready();
  await api.ready();
  return [leader, standby];
}

const publish = () => ride.publish();
const isReadable = (wanted: number) => expect.poll(() => countIn(api), { timeout: 20_000, interval: 20 }).toBe(wanted);
const terms = ({ out, err }: RunningService): number => (out() + err()).split('"Leading:').length - 1;
const compares = ({ out, err }: RunningService): boolean => (out() + err()).includes('Compared ');
const leads = async ({ origin }: RunningService): Promise<boolean> =>
  (await (await fetch(`${origin}/metrics`)).text()).includes('ride_calendar_role{role="leader"} 1');

describe('two projectors', () => {
  // docs/rules.md#take-over, #beginning
  it('go on without a comparison when the leader is killed, at last over a slow line to Redis, and no reader sees an older answer', async () => {
    const proxy = await stallingProxy(redis.url);
    let [leader, standby] = await pair(proxy.url);
    const reader = watchCount(api);
    for (const slowMs of [0, 400]) {
      await isReadable(await publish());
      proxy.slow(slowMs);
      await leader.kill();
      const changed = await publish();
      const killedMs = performance.now();
      // Over the slow line it takes 6 to 8 s; on a busy machine some looks take too long to count.
      await expect.poll(() => leads(standby), { timeout: 60_000 }).toBe(true);
      await isReadable(changed);
      console.log(`Readable again ${Math.round(performance.now() - killedMs)} ms after a kill -9 of the leader`);
      expect([terms(standby), compares(standby)]).toEqual([1, false]);
      expect(standby.out() + standby.err()).not.toContain('TimeoutNegativeWarning');
      if (slowMs > 0) break;
      leader = standby;
      standby = await (await startProjector(proxy.url)).ready();
    }
    await reader.end();
    await standby.kill();
    await proxy.close();
  }, 240_000);

  it('keep their places while Redis stands still, hand over when the leader is told to stop, and do not write while another leads', async () => {
    const [first, second] = await pair();
    const reader = watchCount(api);
    process.kill(redis.pid, 'SIGSTOP');
    await sleep(6_000);
    process.kill(redis.pid, 'SIGCONT');
    await isReadable(await publish());
    await sleep(3_000);
    expect([terms(first), terms(second), await leads(first), await leads(second)]).toEqual([1, 0, true, false]);
    const stoppedMs = performance.now();
    const [ended, changed] = await Promise.all([first.stop(), publish()]);
    await isReadable(changed);
    console.log(`Readable again ${Math.round(performance.now() - stoppedMs)} ms after a SIGTERM of the leader`);
    expect([ended.code, terms(second), compares(second)]).toEqual([0, 1, false]);
    const third = await (await startProjector()).ready();
    process.kill(second.pid, 'SIGSTOP');
    await isReadable(await publish());
    const fences = () => admin.mget(Array.from({ length: 64 }, (_, tag) => `ride-calendar:g3:pub:{v${tag}}:fence`));
    const owners = new Set((await fences()).map((fence) => fence!.split(':')[2]));
    expect(owners.size).toBe(1);
    process.kill(second.pid, 'SIGCONT');
    await second.printed('Another projector has taken over: standing by');
    await isReadable(await publish());
    expect(new Set((await fences()).map((fence) => fence!.split(':')[2]))).toEqual(owners);
    expect([await leads(second), await leads(third)]).toEqual([false, true]);
    await reader.end();
  }, 240_000);
});
