import { setTimeout as sleep } from 'node:timers/promises';
import kafkajs from 'kafkajs';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type KafkaBroker, startKafkaBroker } from '../../infra/local/kafka-broker.ts';
import { type RedisServer, startRedisServer } from '../../infra/local/redis-server.ts';
import { encodeValue } from '../../schemas/avro/codec.ts';
import type { Ride } from '../../schemas/events/records.ts';
import { portlandDirectory, portlandKeys, readPortland } from '../support/portland.ts';
import { type Env, Processes, type RunningService } from '../support/process.ts';

// Kafka, Redis and the projector stand still, each for some seconds: it shows while it lasts, and afterwards in every
// change that was delayed.

const processes = new Processes();
const rideId = 'pp15r4125';
let broker: KafkaBroker;
let redis: RedisServer;
let env: Env;
let projector: RunningService;
let api: RunningService;
let ride: Ride;
let producer: kafkajs.Producer;

beforeAll(async () => {
  [broker, redis] = await Promise.all([startKafkaBroker(), startRedisServer()]);
  env = { KAFKA_BROKERS: broker.brokers, REDIS_URL: redis.url };
  expect(await processes.run(['topics', '--partitions', '2'], env)).toMatchObject({ code: 0 });
  expect(await processes.run(['archive', 'load', portlandDirectory], env)).toMatchObject({ code: 0 });
  projector = await processes.start('projector', env);
  api = await processes.start('api', { ...env, NOW: '2015-06-13T19:00:00Z' });
  await Promise.all([projector.ready(), api.ready()]);
  const last = (await readPortland()).findLast(({ topic, key }) => topic === 'rides' && key === rideId)!;
  ride = last.value as Ride;
  const client = new kafkajs.Kafka({ brokers: [broker.brokers], logLevel: kafkajs.logLevel.NOTHING });
  producer = client.producer({ createPartitioner: kafkajs.Partitioners.DefaultPartitioner });
  await producer.connect();
  await publish('begun');
  await vi.waitFor(async () => expect(await title()).toBe('begun'), { timeout: 30_000, interval: 100 });
});
afterAll(async () => {
  await producer?.disconnect();
  await processes.close();
  await Promise.all([broker?.stop(), redis?.stop()]);
});

const publish = (title: string) =>
  producer.send({
    topic: 'ride-calendar.rides',
    messages: [{ key: rideId, value: encodeValue('rides', { ...ride, title } as never) }],
  });

/** The ride's title as a reader gets it; the status where it is no 200. */
async function title(): Promise<string | number> {
  const answer = await fetch(`${api.api}/rides/${rideId}`, { headers: { 'X-Api-Key': portlandKeys.live } });
  return answer.ok ? ((await answer.json()) as { title: string }).title : answer.status;
}

async function metric(name: string): Promise<number> {
  const text = await (await fetch(`${projector.origin}/metrics`)).text();
  const line = text.split('\n').find((one) => one.startsWith(`ride_calendar_${name} `));
  return Number(line?.split(' ').at(-1));
}
const age = () => metric('unreadable_age_seconds');
/** Changes that took longer than a second to be readable. */
const slowChanges = async () =>
  (await metric('freshness_seconds_count')) - (await metric('freshness_seconds_bucket{le="1"}'));

async function whileStopped(pid: number, during: () => Promise<void>): Promise<void> {
  process.kill(pid, 'SIGSTOP');
  try {
    await during();
  } finally {
    process.kill(pid, 'SIGCONT');
  }
}

const soon = { timeout: 30_000, interval: 100 };

describe('while nothing is wrong', () => {
  it('no change is old, nothing is waited for, and positions are at the ends', async () => {
    await expect.poll(age, soon).toBe(0);
    expect(await metric('waiting_seconds{for="kafka"}')).toBe(0);
    expect(await metric('waiting_seconds{for="redis"}')).toBe(0);
    expect(await metric('role{role="leader"}')).toBe(1);
    expect(await metric('unresolved_rejects{reason="no key"}')).toBe(0);
    for (const partition of [0, 1]) {
      const at = `{topic="rides",partition="${partition}"}`;
      expect(await metric(`partition_position_offset${at}`)).toBe(await metric(`partition_end_offset${at}`));
    }
  });
});

describe('Kafka that stands still for 12 s', () => {
  it('is waited for by name, and the age grows though nobody can know of a change', async () => {
    await whileStopped(broker.pid, async () => {
      await expect.poll(age, soon).toBeGreaterThan(3);
      expect(await metric('waiting_seconds{for="kafka"}')).toBeGreaterThan(2);
      await projector.printed(/Waiting for \d+\.\d s for Kafka/);
      const before = await age();
      await sleep(7_000);
      expect(await age()).toBeGreaterThan(before + 5);
    });
    await projector.printed('Kafka answers again, after');
    await publish('after Kafka');
    await expect.poll(title, soon).toBe('after Kafka');
    await expect.poll(age, soon).toBe(0);
  }, 120_000);
});

describe('Redis that stands still for 6 s', () => {
  it('is waited for by name, and shows in each change that it delayed', async () => {
    const before = await slowChanges();
    await whileStopped(redis.pid, async () => {
      for (let i = 0; i < 10; i++) {
        await publish(`during Redis ${i}`);
        await sleep(100);
      }
      await expect.poll(age, soon).toBeGreaterThan(4);
      expect(await metric('waiting_seconds{for="redis"}')).toBeGreaterThan(2);
      expect(await metric('loop_turn_age_seconds')).toBeGreaterThan(2);
      await projector.printed(/Waiting for \d+\.\d s for the view store/);
    });
    await projector.printed('The view store answers again, after');
    await expect.poll(title, soon).toBe('during Redis 9');
    await expect.poll(slowChanges, soon).toBe(before + 10);
    await expect.poll(age, soon).toBe(0);
  }, 120_000);
});

describe('a projector that stands still for 5 s', () => {
  it('says so, and it shows in each change that it delayed', async () => {
    const before = await slowChanges();
    await whileStopped(projector.pid, async () => {
      for (let i = 0; i < 10; i++) {
        await publish(`during the projector ${i}`);
        await sleep(100);
      }
      await sleep(4_000);
    });
    await projector.printed(/This process stood still for \d+\.\d s/);
    await expect.poll(title, soon).toBe('during the projector 9');
    await expect.poll(slowChanges, soon).toBe(before + 10);
  }, 120_000);
});

describe('an API that stands still while a change comes', () => {
  it('answers nothing that it kept before', async () => {
    for (let round = 0; round < 3; round++) {
      await expect.poll(title, soon).not.toBe(503);
      // Kept in memory by now.
      await sleep(1_500);
      await title();
      process.kill(api.pid, 'SIGSTOP');
      await publish(`while the API stood ${round}`);
      await sleep(4_000);
      // Requests that wait for it are among the first things it sees.
      const answers = Array.from({ length: 20 }, title);
      await sleep(200);
      process.kill(api.pid, 'SIGCONT');
      const old = (await Promise.all(answers)).filter((one) => one !== `while the API stood ${round}`);
      expect(old).toEqual([]);
    }
  }, 120_000);
});
