import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RedisServer, startRedisServer } from '../../infra/local/redis-server.ts';
import { latestRecords } from '../reference/facts.ts';
import { differencesAfter, Hammer, type Question, questionsOf } from '../support/processes/calendar-answers.ts';
import { Processes, type RunningService } from '../support/processes/process.ts';
import { riderTokens } from '../support/sign-in/rider-tokens.ts';
import { portlandKeys } from '../support/worlds/portland.ts';
import { PortlandInKafka } from '../support/worlds/portland-in-kafka.ts';

// Portland projected into a Redis of its own, which then fails in every way, while readers ask all the time: each of
// their answers is right, or 503.

const now = '2015-06-13T19:00:00Z';
const processes = new Processes();
let redis: RedisServer;
let admin: Redis;
let portland: PortlandInKafka;
let tokens: Awaited<ReturnType<typeof riderTokens>>;
let projector: RunningService;
let api: RunningService;
let questions: Question[];

const startProjector = () => processes.start('projector', { ...portland.env, REDIS_URL: redis.url });

beforeAll(async () => {
  redis = await startRedisServer();
  admin = new Redis(redis.url, { maxRetriesPerRequest: null });
  admin.on('error', () => undefined);
  const folder = await processes.folder();
  portland = await PortlandInKafka.load();
  tokens = await riderTokens(folder);
  projector = await startProjector();
  api = await processes.start('api', { REDIS_URL: redis.url, NOW: now, ...tokens.env });
  await Promise.all([projector.ready(), api.ready()]);
  await ask();
});
afterAll(async () => {
  await processes.close();
  await portland.close();
  admin.disconnect();
  await redis.stop();
});

/** Looks the questions up anew, with what was published since. */
async function ask(): Promise<void> {
  const facts = latestRecords(portland.records);
  const riders = await tokens.of('r0020', 'r0007');
  const deadKeys = [portlandKeys.deleted, 'nonsense'];
  questions = questionsOf(facts, Date.parse(now), { key: portlandKeys.live, deadKeys, tokens: riders });
}

/** Readers ask while something fails, and then until every answer is right again, at most `withinMs` later. */
async function expectRightOr503(fail: () => Promise<unknown>, withinMs = 15_000): Promise<Hammer> {
  const hammer = new Hammer(api.api, questions);
  try {
    await sleep(300);
    await fail();
    expect((await differencesAfter(api.api, questions, withinMs)).slice(0, 5)).toEqual([]);
    await sleep(300);
  } finally {
    await hammer.stop();
  }
  expect(hammer.wrong.slice(0, 5)).toEqual([]);
  expect(hammer.right).toBeGreaterThan(0);
  expect([projector.hasEnded(), api.hasEnded()]).toEqual([false, false]);
  return hammer;
}

describe('Redis', () => {
  it('that comes back from an older snapshot shows nothing of the past', async () => {
    await admin.save();
    const [id] = await portland.publishRides();
    await ask();
    expect(questions.some(({ path, wanted }) => path === `/rides/${id}` && wanted.status === 200)).toBe(true);
    expect((await differencesAfter(api.api, questions, 10_000)).slice(0, 5)).toEqual([]);
    const hammer = await expectRightOr503(async () => {
      await redis.kill();
      await redis.start();
    });
    expect(hammer.refused).toBeGreaterThan(0);
  });

  it('whose memory is full is a stall that is reported, and reads go on; with more memory it goes on', async () => {
    const waiting = async (): Promise<number> => {
      const text = await (await fetch(`${projector.origin}/metrics`)).text();
      return Number(/^ride_calendar_waiting_seconds{[^}]*for="redis"[^}]*} (.*)$/m.exec(text)![1]);
    };
    const samples: number[] = [];
    await expectRightOr503(async () => {
      await admin.config('SET', 'maxmemory', '1mb');
      // The background check reads every ten seconds.
      for (; samples.length < 14; await sleep(1_000)) samples.push(await waiting());
      await projector.printed(/Waiting for .* for the view store, .*maxmemory/);
      expect(await (await fetch(`${projector.origin}/readyz`)).json()).toMatchObject({
        note: 'Redis is full (OOM); raise its maxmemory',
      });
      await admin.config('SET', 'maxmemory', '0');
      await sleep(2_500);
    });
    expect(await waiting()).toBe(0);
    // What RedisTakesNoWrites looks at never falls back meanwhile.
    expect(samples).toEqual(samples.toSorted((a, b) => a - b));
    expect(samples.at(-1)).toBeGreaterThan(5);
    await projector.printed('The view store answers again, after');
    await portland.publishRides();
    await ask();
    expect((await differencesAfter(api.api, questions, 10_000)).slice(0, 5)).toEqual([]);
  });
});

describe('the projector', () => {
  it('killed leaves the reads right; one that finds Redis emptied fills it, and until then nothing is said to be absent', async () => {
    const readFor = async (ms: number): Promise<number> => {
      const hammer = new Hammer(api.api, questions);
      await sleep(ms);
      await hammer.stop();
      expect([hammer.wrong, hammer.right + hammer.refused > 10]).toEqual([[], true]);
      return hammer.refused;
    };
    await projector.kill();
    // For longer than readers trust a cache of theirs without a sign of life.
    expect(await readFor(3_000)).toBe(0);
    await admin.flushall();
    expect(await readFor(1_500)).toBeGreaterThan(0);
    const hammer = await expectRightOr503(async () => {
      projector = await startProjector();
      await projector.ready();
    });
    expect(hammer.refused).toBeGreaterThan(0);
  });

  it('refuses a Redis that would drop views for want of memory', async () => {
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
});
