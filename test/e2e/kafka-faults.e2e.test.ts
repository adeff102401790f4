import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type KafkaBroker, startKafkaBroker } from '../../infra/local/kafka-broker.ts';
import type { Ride } from '../../schemas/events/records.ts';
import { latestRecords } from '../reference/facts.ts';
import { differencesAfter, Hammer, type Question, questionsOf } from '../support/processes/calendar-answers.ts';
import { type Env, Processes, type RunningService } from '../support/processes/process.ts';
import { freshKeyPrefix, redisUrl } from '../support/servers/backends.ts';
import { readTopic } from '../support/servers/kafka-topic.ts';
import { riderTokens } from '../support/sign-in/rider-tokens.ts';
import { deleteAll } from '../support/stores/redis-dump.ts';
import { portlandKeys } from '../support/worlds/portland.ts';
import { PortlandInKafka } from '../support/worlds/portland-in-kafka.ts';

// Portland in a Kafka of its own, which crashes and stands still.

const now = '2015-06-13T19:00:00Z';
const processes = new Processes();
let broker: KafkaBroker;
let env: Env;
let tokens: Awaited<ReturnType<typeof riderTokens>>;
let projector: RunningService;
let api: RunningService;
let portland: PortlandInKafka;
let questions: Question[];

const startProjector = async () => (await processes.start('projector', env)).ready();
const startApi = async () => (await processes.start('api', { ...env, NOW: now, ...tokens.env })).ready();

beforeAll(async () => {
  broker = await startKafkaBroker();
  portland = await PortlandInKafka.load(processes, broker.brokers);
  env = { ...portland.env, REDIS_URL: redisUrl(), REDIS_KEY_PREFIX: freshKeyPrefix() };
  tokens = await riderTokens(await processes.folder());
  projector = await startProjector();
  api = await startApi();
  await ask();
});
afterAll(async () => {
  await processes.close();
  await portland?.close();
  await broker?.stop();
});

/** Looks the questions up anew, with what was published since. */
async function ask(): Promise<void> {
  const riders = await tokens.of('r0020', 'r0007', 'r0100');
  const deadKeys = [portlandKeys.deleted];
  const facts = latestRecords(portland.records);
  questions = questionsOf(facts, Date.parse(now), { key: portlandKeys.live, deadKeys, tokens: riders });
}

async function expectRightWithin(timeoutMs: number): Promise<void> {
  expect((await differencesAfter(api.api, questions, timeoutMs)).slice(0, 5)).toEqual([]);
}

const ride = 'pp15r4125';
const rename = (title: string): Promise<void> =>
  portland.publish('rides', { key: ride, value: { ...(portland.last('rides', ride) as Ride), title } });

describe('Kafka', () => {
  it('that crashes and comes back takes no read away, and its changes are seen', async () => {
    const hammer = new Hammer(api.api, questions);
    await broker.kill();
    await projector.printed(/Cannot read from Kafka|Cannot look up the topics/);
    await sleep(2_500);
    await broker.start();
    await sleep(500);
    await hammer.stop();
    expect(hammer.wrong.slice(0, 5)).toEqual([]);
    expect(hammer.refused).toBe(0);
    await rename('Renamed after a crash');
    await ask();
    await expectRightWithin(20_000);
    expect(projector.hasEnded()).toBe(false);
  }, 90_000);

  it('that stands still is waited for by name, and the age grows though nobody can know of a change', async () => {
    const metric = async (name: string): Promise<number> => {
      const text = await (await fetch(`${projector.origin}/metrics`)).text();
      return Number(
        text
          .split('\n')
          .find((line) => line.startsWith(`ride_calendar_${name} `))
          ?.split(' ')
          .at(-1),
      );
    };
    const age = () => metric('unreadable_age_seconds');
    const soon = { timeout: 30_000, interval: 100 };
    process.kill(broker.pid, 'SIGSTOP');
    try {
      await expect.poll(age, soon).toBeGreaterThan(3);
      expect(await metric('waiting_seconds{for="kafka"}')).toBeGreaterThan(2);
      await projector.printed(/Waiting for \d+\.\d s for Kafka/);
      // The views are lost meanwhile, twice.
      for (let loss = 0; loss < 2; loss++) {
        await deleteAll(redisUrl(), env.REDIS_KEY_PREFIX!);
        await sleep(3_000);
      }
      expect(await age()).toBeGreaterThan(7);
    } finally {
      process.kill(broker.pid, 'SIGCONT');
    }
    await projector.printed('Kafka answers again, after');
    await rename('Renamed after a standstill');
    await ask();
    await expectRightWithin(30_000);
    await expect.poll(age, soon).toBe(0);
    expect(projector.hasEnded()).toBe(false);
  }, 120_000);
});

describe('bad records', () => {
  it('that come while the projector is killed again and again are set aside once each', async () => {
    await ask();
    const key = 'not a key of a metro';
    for (let i = 0; i < 5; i++) {
      const value = { metro: key, name: 'x', time_zone: 'Europe/Berlin', revision: i, changed_at: 0 };
      await portland.publish('metros', { key, value });
      await sleep(i * 60);
      await projector.kill();
      projector = await processes.start('projector', env);
    }
    await projector.ready();
    await expectRightWithin(10_000);
    const rejected = () => readTopic(broker.brokers, `${env.KAFKA_TOPIC_PREFIX}rejected`);
    await expect.poll(async () => (await rejected()).length, { timeout: 10_000 }).toBe(4 + 5);
    const places = (await rejected()).map(({ headers: h }) =>
      ['topic', 'partition', 'offset'].map((name) => h[`ride-calendar.${name}`]).join(),
    );
    expect(new Set(places).size).toBe(9);
    await projector.stop();
    await startProjector();
    expect(await rejected()).toHaveLength(9);
  }, 120_000);
});
