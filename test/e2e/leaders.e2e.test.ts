import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type RedisServer, startRedisServer } from '../../infra/local/redis-server.ts';
import type { Ride } from '../../schemas/events/records.ts';
import { portlandKeys } from '../support/portland.ts';
import { PortlandInKafka } from '../support/portland-in-kafka.ts';
import { Processes, type RunningService } from '../support/process.ts';
import { stallingProxy } from '../support/stalling-proxy.ts';

// Two projectors over one Redis, as they are run: one leads, the other stands by. A reader asks for one ride all the
// while, whose title counts up: no answer is older than the one before.

const title = 'pp15r4125';
const processes = new Processes();
let redis: RedisServer;
let admin: Redis;
let portland: PortlandInKafka;
let ride: Ride;
let count = 0;
let api: RunningService;
const running: RunningService[] = [];

beforeAll(async () => {
  portland = await PortlandInKafka.load(processes);
  ride = portland.last('rides', title) as Ride;
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

/** Gives the ride its next title. */
async function publish(): Promise<number> {
  await portland.publish('rides', { key: title, value: { ...ride, title: `Ride ${++count}` } });
  return count;
}

async function readTitle(): Promise<number | null> {
  try {
    const response = await fetch(`${api.api}/rides/${title}`, { headers: { 'X-Api-Key': portlandKeys.live } });
    const body = (await response.json()) as { title?: string };
    return response.ok ? Number(/^Ride (\d+)$/.exec(body.title!)?.[1] ?? 0) : null;
  } catch {
    return null;
  }
}

/** Reads until told to stop; the answers that were older than the one before. */
function watch() {
  const stop = new AbortController();
  const back: [number, number][] = [];
  let [last, answers] = [0, 0];
  const done = (async () => {
    while (!stop.signal.aborted) {
      const read = await readTitle();
      if (read !== null) {
        if (read < last) back.push([last, read]);
        last = read;
        answers++;
      }
      await sleep(5);
    }
  })();
  return {
    async end() {
      stop.abort();
      await done;
      expect(answers).toBeGreaterThan(0);
      expect(back).toEqual([]);
    },
  };
}

const isReadable = (wanted: number) => expect.poll(readTitle, { timeout: 20_000, interval: 20 }).toBe(wanted);
const terms = ({ out, err }: RunningService): number => (out() + err()).split('"Leading:').length - 1;
const compares = ({ out, err }: RunningService): boolean => (out() + err()).includes('Compared ');
const leads = async ({ origin }: RunningService): Promise<boolean> =>
  (await (await fetch(`${origin}/metrics`)).text()).includes('ride_calendar_role{role="leader"} 1');

describe('two projectors', () => {
  // docs/rules.md#beginning
  it('go on without a comparison when the leader is killed, over and over, and no reader sees an older answer', async () => {
    let [leader, standby] = await pair();
    const reader = watch();
    for (let kill = 0; kill < 3; kill++) {
      await isReadable(await publish());
      await leader.kill();
      const changed = await publish();
      const killedMs = performance.now();
      await isReadable(changed);
      console.log(`Readable again ${Math.round(performance.now() - killedMs)} ms after a kill -9 of the leader`);
      expect([terms(standby), compares(standby), await leads(standby)]).toEqual([1, false, true]);
      leader = standby;
      standby = await startProjector();
      await standby.ready();
    }
    await reader.end();
  }, 240_000);

  it('over a slow line to Redis go on when the leader is killed', async () => {
    const proxy = await stallingProxy(redis.url);
    const [leader, standby] = await pair(proxy.url);
    proxy.slow(400);
    await sleep(2_000);
    await leader.kill();
    await expect.poll(() => leads(standby), { timeout: 15_000 }).toBe(true);
    await isReadable(await publish());
    for (const each of [standby, leader]) expect(each.err() + each.out()).not.toContain('TimeoutNegativeWarning');
    await standby.kill();
    await proxy.close();
  }, 120_000);

  it('hand over when the leader is told to stop', async () => {
    const [leader, standby] = await pair();
    const reader = watch();
    await isReadable(await publish());
    const stoppedMs = performance.now();
    const [ended, changed] = await Promise.all([leader.stop(), publish()]);
    await isReadable(changed);
    console.log(`Readable again ${Math.round(performance.now() - stoppedMs)} ms after a SIGTERM of the leader`);
    expect([ended.code, terms(standby), compares(standby)]).toEqual([0, 1, false]);
    await reader.end();
  }, 180_000);

  it('are not in one another’s way: a leader that was stopped for long writes nothing once another leads', async () => {
    const [leader, standby] = await pair();
    const reader = watch();
    await isReadable(await publish());
    process.kill(leader.pid, 'SIGSTOP');
    await isReadable(await publish());
    const fences = () => admin.mget(Array.from({ length: 64 }, (_, tag) => `ride-calendar:g3:pub:{v${tag}}:fence`));
    const owners = new Set((await fences()).map((fence) => fence!.split(':')[2]));
    expect(owners.size).toBe(1);
    process.kill(leader.pid, 'SIGCONT');
    await leader.printed('Another projector has taken over: standing by');
    await isReadable(await publish());
    expect(new Set((await fences()).map((fence) => fence!.split(':')[2]))).toEqual(owners);
    expect([await leads(leader), await leads(standby)]).toEqual([false, true]);
    await reader.end();
  }, 180_000);

  it('keep their places while Redis stands still for six seconds', async () => {
    const [leader, standby] = await pair();
    process.kill(redis.pid, 'SIGSTOP');
    await sleep(6_000);
    process.kill(redis.pid, 'SIGCONT');
    await isReadable(await publish());
    await sleep(3_000);
    expect([terms(leader), terms(standby), await leads(leader), await leads(standby)]).toEqual([1, 0, true, false]);
  }, 180_000);

  it('never duel: started at once they agree on one leader, and it stays', async () => {
    const both = await Promise.all([startProjector(), startProjector()]);
    await Promise.all(both.map((each) => each.ready()));
    await api.ready();
    const reader = watch();
    for (let i = 0; i < 20; i++) {
      await isReadable(await publish());
      await sleep(500);
    }
    expect(both.map(terms).toSorted()).toEqual([0, 1]);
    await reader.end();
  }, 240_000);

  it('and Redis, all started again on an older snapshot, show nothing of the past', async () => {
    const [leader, standby] = await pair();
    await isReadable(await publish());
    await admin.save();
    await isReadable(await publish());
    const reader = watch();
    await sleep(500);
    await Promise.all([leader.kill(), standby.kill(), redis.kill()]);
    await redis.start();
    const again = await startProjector();
    await again.ready();
    await isReadable(count);
    await reader.end();
  }, 180_000);

  it('leave an API that starts while a store is restored in doubt, until a leader has vouched for it', async () => {
    const [leader, standby] = await pair();
    await isReadable(await publish());
    await admin.save();
    await isReadable(await publish());
    await Promise.all([leader.kill(), standby.kill(), redis.kill()]);
    await redis.start();
    await api.kill();
    api = await processes.start('api', { REDIS_URL: redis.url, NOW: '2015-06-13T19:00:00Z' });
    await api.printed('Serving');
    const seen = new Set<number | null>();
    const until = performance.now() + 2_000;
    while (performance.now() < until) seen.add(await readTitle());
    expect(seen).toEqual(new Set([null]));
    await (await startProjector()).ready();
    await isReadable(count);
  }, 180_000);
});
