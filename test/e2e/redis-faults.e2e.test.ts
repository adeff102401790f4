import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type RedisServer, startRedisServer } from '../../infra/local/redis-server.ts';
import { latestRecords } from '../reference/facts.ts';
import { differencesAfter, Hammer, type Question, questionsOf } from '../support/processes/calendar-answers.ts';
import { Processes, type RunningService } from '../support/processes/process.ts';
import { riderTokens } from '../support/sign-in/rider-tokens.ts';
import { portlandKeys } from '../support/worlds/portland.ts';
import { PortlandInKafka } from '../support/worlds/portland-in-kafka.ts';

// Portland projected into a Redis of its own, whose memory is full, or which would evict. Other faults of Redis: test/faults.

const now = '2015-06-13T19:00:00Z';
const processes = new Processes();
let redis: RedisServer;
let admin: Redis;
let portland: PortlandInKafka;
let tokens: Map<string, string>;
let projector: RunningService;
let api: RunningService;

const startProjector = () => processes.start('projector', { ...portland.env, REDIS_URL: redis.url });

beforeAll(async () => {
  redis = await startRedisServer();
  admin = new Redis(redis.url, { maxRetriesPerRequest: null });
  admin.on('error', () => undefined);
  const folder = await processes.folder();
  portland = await PortlandInKafka.load();
  const signer = await riderTokens(folder);
  tokens = await signer.of('r0020', 'r0007');
  projector = await startProjector();
  api = await processes.start('api', { REDIS_URL: redis.url, NOW: now, ...signer.env });
  await Promise.all([projector.ready(), api.ready()]);
});
afterAll(async () => {
  await processes.close();
  await portland.close();
  admin.disconnect();
  await redis.stop();
});

/** With what was published since the start. */
function questions(): Question[] {
  const deadKeys = [portlandKeys.deleted, 'nonsense'];
  return questionsOf(latestRecords(portland.records), Date.parse(now), { key: portlandKeys.live, deadKeys, tokens });
}

it('a Redis whose memory is full is a stall that is reported, and reads go on; with more memory it goes on', async () => {
  const waiting = async (): Promise<number> => {
    const text = await (await fetch(`${projector.origin}/metrics`)).text();
    return Number(/^ride_calendar_waiting_seconds{[^}]*for="redis"[^}]*} (.*)$/m.exec(text)![1]);
  };
  const samples: number[] = [];
  const hammer = new Hammer(api.api, questions());
  await admin.config('SET', 'maxmemory', '1mb');
  // The background check reads every ten seconds.
  for (; samples.length < 14; await sleep(1_000)) samples.push(await waiting());
  await projector.printed(/Waiting for .* for the view store, .*maxmemory/);
  expect(await (await fetch(`${projector.origin}/readyz`)).json()).toMatchObject({
    note: 'Redis is full (OOM); raise its maxmemory',
  });
  await admin.config('SET', 'maxmemory', '0');
  await projector.printed('The view store answers again, after');
  await expect.poll(waiting, { timeout: 10_000 }).toBe(0);
  await hammer.stop();
  expect([hammer.wrong.slice(0, 5), hammer.right > 0]).toEqual([[], true]);
  // What RedisTakesNoWrites looks at never falls back meanwhile.
  expect(samples).toEqual(samples.toSorted((a, b) => a - b));
  expect(samples.at(-1)).toBeGreaterThan(5);
  await portland.publishRides();
  expect((await differencesAfter(api.api, questions(), 10_000)).slice(0, 5)).toEqual([]);
});

it('the projector refuses a Redis that would drop views for want of memory', async () => {
  await admin.config('SET', 'maxmemory-policy', 'allkeys-lru');
  try {
    const { code, err } = await (await startProjector()).ended;
    expect(code).toBe(1);
    expect(err).toContain('maxmemory-policy is allkeys-lru, want noeviction');
    expect(err).not.toMatch(/^ +at /m);
  } finally {
    await admin.config('SET', 'maxmemory-policy', 'noeviction');
  }
});
