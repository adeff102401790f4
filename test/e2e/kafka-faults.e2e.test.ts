import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import kafkajs from 'kafkajs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type KafkaBroker, startKafkaBroker } from '../../infra/local/kafka-broker.ts';
import { encodeValue } from '../../schemas/avro/codec.ts';
import type { AnyRecord, Ride, TopicName } from '../../schemas/events/records.ts';
import { latestRecords } from '../reference/facts.ts';
import { freshKeyPrefix, redisUrl } from '../support/backends.ts';
import { differencesAfter, Hammer, type Question, questionsOf } from '../support/calendar-answers.ts';
import type { HistoryRecord } from '../support/histories.ts';
import { kafkaClient } from '../support/kafka.ts';
import { readTopic } from '../support/kafka-topic.ts';
import { copyPortland, portlandKeys, readPortland } from '../support/portland.ts';
import { type Env, Processes, type RunningService } from '../support/process.ts';
import { deleteAll } from '../support/redis-dump.ts';
import { riderTokens } from '../support/rider-tokens.ts';

// Portland in a Kafka of its own, which crashes, stands still and grows.

const now = '2015-06-13T19:00:00Z';
const processes = new Processes();
let broker: KafkaBroker;
let env: Env;
let tokens: Awaited<ReturnType<typeof riderTokens>>;
let projector: RunningService;
let api: RunningService;
let records: HistoryRecord[];
let questions: Question[];

const startProjector = async () => (await processes.start('projector', env)).ready();
const startApi = async () => (await processes.start('api', { ...env, NOW: now, ...tokens.env })).ready();

beforeAll(async () => {
  broker = await startKafkaBroker();
  env = { KAFKA_BROKERS: broker.brokers, REDIS_URL: redisUrl(), REDIS_KEY_PREFIX: freshKeyPrefix() };
  const folder = await processes.folder();
  tokens = await riderTokens(folder);
  const archive = await copyPortland(join(folder, 'portland'));
  expect(await processes.run(['topics', '--partitions', '4'], env)).toMatchObject({ code: 0 });
  expect(await processes.run(['archive', 'load', archive], env)).toMatchObject({ code: 0 });
  records = await readPortland();
  projector = await startProjector();
  api = await startApi();
  await ask();
});
afterAll(async () => {
  await processes.close();
  await broker?.stop();
});

/** Looks the questions up anew, with what was published since. */
async function ask(): Promise<void> {
  const riders = await tokens.of('r0020', 'r0007', 'r0100');
  const deadKeys = [portlandKeys.deleted];
  const facts = latestRecords(records);
  questions = questionsOf(facts, Date.parse(now), { key: portlandKeys.live, deadKeys, tokens: riders });
}

async function expectRightWithin(timeoutMs: number): Promise<void> {
  expect((await differencesAfter(api.api, questions, timeoutMs)).slice(0, 5)).toEqual([]);
}

/** Publishes a record as upstream would: to its key's partition. */
async function publish(topic: TopicName, key: string, value: AnyRecord | null): Promise<void> {
  const client = kafkaClient(broker.brokers);
  const producer = client.producer({ createPartitioner: kafkajs.Partitioners.DefaultPartitioner });
  const bytes = value && encodeValue(topic, value as never);
  await producer.connect();
  await producer.send({ topic: `ride-calendar.${topic}`, messages: [{ key, value: bytes }] });
  await producer.disconnect();
  // In our own list it comes after what was there of the key.
  const partition = records.find((record) => record.topic === topic && record.key === key)?.partition ?? 0;
  records.push({ topic, partition, offset: 1e9, timestampMs: Date.now(), key, value });
}

const rename = (ride: string, title: string): Promise<void> => {
  const last = records.findLast((record) => record.topic === 'rides' && record.key === ride)!;
  return publish('rides', ride, { ...(last.value as Ride), title });
};

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
    await rename('pp15r4125', 'Renamed after a crash');
    await ask();
    await expectRightWithin(20_000);
    expect(projector.hasEnded()).toBe(false);
  }, 90_000);

  it.each([
    ['', 0],
    [', also while the views are lost twice', 2],
  ])(
    'that stands still for a while is waited for%s',
    async (_, losses) => {
      process.kill(broker.pid, 'SIGSTOP');
      try {
        for (let loss = 0; loss < losses; loss++) {
          await deleteAll(redisUrl(), env.REDIS_KEY_PREFIX!);
          await sleep(3_000);
        }
        await sleep(losses ? 0 : 6_000);
      } finally {
        process.kill(broker.pid, 'SIGCONT');
      }
      await rename('pp15r4125', `Renamed after a standstill and ${losses} losses`);
      await ask();
      await expectRightWithin(30_000);
      expect(projector.hasEnded()).toBe(false);
    },
    90_000,
  );
});

describe('an erased rider', () => {
  it('is gone from everywhere when the API comes back from being down meanwhile', async () => {
    await api.kill();
    await publish('riders', 'r0020', null);
    await ask();
    expect(questions.find(({ path, headers }) => path === '/me/nights' && 'Authorization' in headers)?.wanted).toEqual({
      status: 401,
    });
    api = await startApi();
    await expectRightWithin(10_000);
  });

  it('is gone from everywhere when the projector was down meanwhile', async () => {
    await projector.kill();
    await publish('riders', 'r0100', null);
    projector = await startProjector();
    await ask();
    await expectRightWithin(10_000);
  });
});

describe('bad records', () => {
  it('that come while the projector is killed again and again are set aside once each', async () => {
    const key = 'not a key of a metro';
    for (let i = 0; i < 5; i++) {
      await publish('metros', key, { metro: key, name: 'x', time_zone: 'Europe/Berlin', revision: i, changed_at: 0 });
      await sleep(i * 60);
      await projector.kill();
      projector = await processes.start('projector', env);
    }
    await projector.ready();
    await expectRightWithin(10_000);
    const rejected = () => readTopic(broker.brokers, 'ride-calendar.rejected');
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
