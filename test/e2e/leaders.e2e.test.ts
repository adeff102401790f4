import { afterAll, beforeAll, expect, it } from 'vitest';
import { type RedisServer, startRedisServer } from '../../infra/local/redis-server.ts';
import { Processes, type RunningService } from '../support/processes/process.ts';
import { stallingProxy } from '../support/servers/stalling-proxy.ts';
import { PortlandInKafka } from '../support/worlds/portland-in-kafka.ts';
import { CountedRide, countIn, watchCount } from './counted-ride.ts';

// Two projectors over one Redis, as they are run: one leads, the other stands by. A reader asks for one ride all the
// while, whose title counts up: no answer is older than the one before.

const processes = new Processes();
let redis: RedisServer;
let portland: PortlandInKafka;
let ride: CountedRide;
let api: RunningService;

beforeAll(async () => {
  portland = await PortlandInKafka.load();
  ride = new CountedRide(portland);
  redis = await startRedisServer();
  api = await processes.start('api', { REDIS_URL: redis.url, NOW: '2015-06-13T19:00:00Z' });
});
afterAll(async () => {
  await processes.close();
  await portland.close();
  await redis.stop();
});

const publish = () => ride.publish();
const isReadable = (wanted: number) => expect.poll(() => countIn(api), { timeout: 20_000, interval: 20 }).toBe(wanted);
const terms = ({ out, err }: RunningService): number => (out() + err()).split('"Leading:').length - 1;
const compares = ({ out, err }: RunningService): boolean => (out() + err()).includes('Compared ');
const leads = async ({ origin }: RunningService): Promise<boolean> =>
  (await (await fetch(`${origin}/metrics`)).text()).includes('ride_calendar_role{role="leader"} 1');

// docs/rules.md#take-over, #beginning
it('two projectors go on without a comparison when the leader is told to stop or killed, at last over a slow line to Redis, and no reader sees an older answer', async () => {
  const proxy = await stallingProxy(redis.url);
  const startProjector = () => processes.start('projector', { ...portland.env, REDIS_URL: proxy.url });
  let leader = await startProjector();
  await leader.printed('Ready: ');
  await api.ready();
  const reader = watchCount(api);
  for (const [signal, slowMs] of [
    ['SIGTERM', 0],
    ['SIGKILL', 0],
    ['SIGKILL', 400],
  ] as const) {
    const standby = await (await startProjector()).ready();
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
  }
  await reader.end();
  await leader.kill();
  await proxy.close();
}, 240_000);
