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
  portland = await PortlandInKafka.load(processes);
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
  it('that crashes and comes back empty is right again within seconds', async () => {
    const hammer = await expectRightOr503(async () => {
      await redis.kill();
      await sleep(1_000);
      await redis.start();
    });
    expect(hammer.refused).toBeGreaterThan(0);
  });

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

  it('that drops every connection is right all the while', async () => {
    await expectRightOr503(async () => {
      for (let again = 0; again < 5; again++) {
        await admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
        await admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
        await sleep(100);
      }
    });
  });

  it('that forgets its scripts is right all the while, and takes changes', async () => {
    await expectRightOr503(() => admin.script('FLUSH'));
    await portland.publishRides();
    await ask();
    expect((await differencesAfter(api.api, questions, 10_000)).slice(0, 5)).toEqual([]);
  });

  it('that answers nobody for some seconds delays, and is right', async () => {
    await expectRightOr503(async () => {
      await admin.call('CLIENT', 'PAUSE', '4000', 'ALL');
      await sleep(4_000);
    });
    await admin.call('CLIENT', 'PAUSE', '2000', 'ALL');
    await portland.publishRides();
    await ask();
    expect((await differencesAfter(api.api, questions, 10_000)).slice(0, 5)).toEqual([]);
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
  it('killed leaves the reads right; started again it catches up, and mends what was changed behind its back', async () => {
    await expectRightOr503(async () => {
      await projector.kill();
      // For longer than readers trust a cache of theirs without a sign of life.
      await sleep(3_000);
      projector = await startProjector();
      await projector.ready();
    });
    await projector.kill();
    const day = await findKey('day:portland/2015-06-13');
    const ride = await findKey('ride:pp15r4125');
    const key = (await admin.keys('*:key:*'))[0]!;
    await admin.del(day, key);
    await admin.set(ride, 'something else');
    await admin.set(day.replace('2015-06-13', '2001-01-01'), 'a key that nobody wrote');
    // A start trusts what its predecessor wrote, but for tags that say that they must be compared.
    for (const touched of [day, ride, key, day.replace('2015-06-13', '2001-01-01')]) {
      const [, tag] = /\{(v\d+)\}/.exec(touched)!;
      await admin.zadd(`ride-calendar:g3:tag:{${tag}}:open`, '+inf', 'compare');
    }
    await portland.publishRides();
    await ask();
    projector = await startProjector();
    await projector.ready();
    expect((await differencesAfter(api.api, questions, 5_000)).slice(0, 5)).toEqual([]);
    expect(await admin.exists(day.replace('2015-06-13', '2001-01-01'))).toBe(0);
  }, 90_000);

  it('that finds Redis emptied while it was away fills it; until then nothing is said to be absent', async () => {
    await projector.kill();
    await admin.flushall();
    const before = new Hammer(api.api, questions);
    await sleep(1_500);
    await before.stop();
    expect(before.wrong).toEqual([]);
    expect(before.refused).toBeGreaterThan(0);
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

async function findKey(name: string): Promise<string> {
  const [found] = await admin.keys(`*:${name}`);
  if (!found) throw new Error(`Cannot find ${name} in Redis.`);
  return found;
}
