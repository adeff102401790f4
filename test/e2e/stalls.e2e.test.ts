import { setTimeout as sleep } from 'node:timers/promises';
import kafkajs from 'kafkajs';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type KafkaBroker, startKafkaBroker } from '../../infra/local/kafka-broker.ts';
import { type RedisServer, startRedisServer } from '../../infra/local/redis-server.ts';
import { encodeValue } from '../../schemas/avro/codec.ts';
import type { Ride } from '../../schemas/events/records.ts';
import { portlandDirectory, portlandKeys, readPortland } from '../support/portland.ts';
import { type Env, Processes, type RunningService } from '../support/process.ts';

// Kafka stands still for some seconds, which shows while it lasts; and an API does, which must answer nothing old then.

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

const soon = { timeout: 30_000, interval: 100 };

describe('Kafka that stands still for 12 s', () => {
  it('is waited for by name, and the age grows though nobody can know of a change', async () => {
    process.kill(broker.pid, 'SIGSTOP');
    try {
      await expect.poll(age, soon).toBeGreaterThan(3);
      expect(await metric('waiting_seconds{for="kafka"}')).toBeGreaterThan(2);
      await projector.printed(/Waiting for \d+\.\d s for Kafka/);
      const before = await age();
      await sleep(7_000);
      expect(await age()).toBeGreaterThan(before + 5);
    } finally {
      process.kill(broker.pid, 'SIGCONT');
    }
    await projector.printed('Kafka answers again, after');
    await publish('after Kafka');
    await expect.poll(title, soon).toBe('after Kafka');
    await expect.poll(age, soon).toBe(0);
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
