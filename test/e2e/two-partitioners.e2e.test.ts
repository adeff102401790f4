import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import kafkajs from 'kafkajs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { encodeValue } from '../../schemas/avro/codec.ts';
import { runCli } from '../../services/command-line.ts';
import { Checkout, root } from '../support/processes/guide.ts';
import { heard } from '../support/processes/heard.ts';
import { type Env, Processes } from '../support/processes/process.ts';
import { freshKeyPrefix, freshTopicPrefix, kafkaBrokers, redisUrl } from '../support/servers/backends.ts';
import { kafkaClient } from '../support/servers/kafka.ts';
import { readTopic, type TopicRecord } from '../support/servers/kafka-topic.ts';
import { pythonWith } from '../support/servers/python-package.ts';
import { sampleRecords } from '../support/worlds/records.ts';

// docs/rules.md#one-partition-per-key, #archive-load-partitions: librdkafka's own producer and kafkajs on one log.

const run = promisify(execFile);
const librdkafka = `
import base64, json, sys
from confluent_kafka import Producer
producer = Producer({'bootstrap.servers': sys.argv[1]})
for topic, key, value, timestamp in json.loads(sys.argv[2]):
    producer.produce(topic, key=key, value=value and base64.b64decode(value), timestamp=timestamp)
    producer.poll(0)
sys.exit(producer.flush(30))`;

let python: string;
let folder: string;
const processes = new Processes();
beforeAll(async () => {
  python = join(await pythonWith('confluent-kafka', '2.16.1'), 'python');
  folder = await mkdtemp(join(tmpdir(), 'two-partitioners-'));
}, 600_000);
afterAll(async () => {
  await processes.close();
  await rm(folder, { recursive: true, force: true });
});

interface Change {
  topic: 'metros' | 'rides';
  key: string;
  value: Buffer | null;
}

const ids = Array.from({ length: 24 }, (_, i) => `ride${i}`);
const ride = (key: string, title: string): Change => ({
  topic: 'rides',
  key,
  value: encodeValue('rides', { ...sampleRecords.rides, ride: key, title }),
});
const gone = (key: string): Change => ({ topic: 'rides', key, value: null });
const metro = (key: string): Change => ({
  topic: 'metros',
  key,
  value: encodeValue('metros', { ...sampleRecords.metros, metro: key }),
});
/** Keys that are no ride's: set aside, and never counted. */
const bad: Change[] = ['no ride', 'é', 'a/b', 'x y'].map((key) => ({ ...ride('ride0', 'bad'), key }));

let ms = Date.now() - 600_000;
async function byLibrdkafka(prefix: string, changes: readonly Change[]): Promise<void> {
  const lines = changes.map(({ topic, key, value }) => [prefix + topic, key, value?.toString('base64') ?? null, ms++]);
  await run(python, ['-c', librdkafka, kafkaBrokers(), JSON.stringify(lines)]);
}

async function byKafkaJs(prefix: string, changes: readonly Change[]): Promise<void> {
  const producer = kafkaClient().producer({ createPartitioner: kafkajs.Partitioners.DefaultPartitioner });
  await producer.connect();
  for (const { topic, ...message } of changes)
    await producer.send({ topic: prefix + topic, messages: [{ ...message, timestamp: String(ms++) }] });
  await producer.disconnect();
}

const command = async (args: string[], env: Env) => {
  const settings = { KAFKA_BROKERS: kafkaBrokers(), LOG_LEVEL: 'error', ...env };
  const { code, out, err } = await heard((io) => runCli(args, io, settings) as Promise<0>);
  return { code, out, err: err.join('\n') };
};

async function topics(partitions: number): Promise<string> {
  const KAFKA_TOPIC_PREFIX = freshTopicPrefix();
  expect(await command(['topics', '--partitions', String(partitions)], { KAFKA_TOPIC_PREFIX })).toMatchObject({
    code: 0,
  });
  return KAFKA_TOPIC_PREFIX;
}

/** The records of each ride's key. */
async function ridesIn(prefix: string): Promise<Map<string, TopicRecord[]>> {
  const records = await readTopic(kafkaBrokers(), `${prefix}rides`);
  return Map.groupBy(
    records.filter(({ key }) => ids.includes(String(key))),
    ({ key }) => String(key),
  );
}

/** What holds of each ride: null if it is deleted. Throws for one in two partitions. */
async function holds(prefix: string): Promise<Map<string, Buffer | null>> {
  const found = await ridesIn(prefix);
  for (const [key, records] of found)
    expect([key, new Set(records.map((one) => one.partition)).size]).toEqual([key, 1]);
  return new Map([...found].map(([key, records]) => [key, records.at(-1)!.value]));
}

const wanted = (...changes: Change[]) => new Map(changes.map(({ key, value }) => [key, value]));
const save = async (dir: string, env: Env) => {
  const saved = await command(['archive', 'save', dir, '--json'], env);
  expect(saved).toMatchObject({ code: 0 });
  return JSON.parse(saved.out.at(-1)!) as { misplaced: Record<string, { records: number; first: string }> };
};

test('a log of librdkafka’s is moved to more partitions by its own partitioner, and its producers go on there', async () => {
  const from = await topics(4);
  await byLibrdkafka(from, [metro('ulm'), ...ids.map((id) => ride(id, 'old')), ...bad, gone('ride3'), gone('ride7')]);
  const dir = join(folder, 'crc32');
  expect(await save(dir, { KAFKA_TOPIC_PREFIX: from, KAFKA_PARTITIONER: 'crc32' })).toMatchObject({ misplaced: {} });
  const to = { KAFKA_TOPIC_PREFIX: await topics(8) };
  const refused = await command(['archive', 'load', dir], to);
  expect(refused).toMatchObject({
    code: 2,
    err: expect.stringMatching(/ murmur2 explains \d+ % of its records, crc32 100 %/),
  });
  expect(await command(['archive', 'load', dir], { ...to, KAFKA_PARTITIONER: 'other' })).toMatchObject({ code: 2 });
  expect((await ridesIn(to.KAFKA_TOPIC_PREFIX)).size).toBe(0);
  expect(await command(['archive', 'load', dir], { ...to, KAFKA_PARTITIONER: 'crc32' })).toMatchObject({ code: 0 });
  const changes = [...ids.slice(0, 12).map((id) => ride(id, 'new')), gone('ride20')];
  await byLibrdkafka(to.KAFKA_TOPIC_PREFIX, changes);
  const left = [...ids.map((id) => ride(id, 'old')), gone('ride3'), gone('ride7'), ...changes];
  expect(await holds(to.KAFKA_TOPIC_PREFIX)).toEqual(wanted(...left));
  // What publishes looks first, and goes by the setting.
  const simulate = ['simulate', '--riders', '80', '--rides', '30', '--rate', '0', '--count', '1'];
  expect(await command(simulate, to)).toMatchObject({
    code: 2,
    err: expect.stringMatching(
      /^Cannot run simulate: \d+ misplaced records of rides, the first at rides\/\d@\d+: murmur2 /,
    ),
  });
  expect(await command(simulate, { ...to, KAFKA_PARTITIONER: 'other' })).toMatchObject({ code: 2 });
  expect(await command(simulate, { ...to, KAFKA_PARTITIONER: 'crc32' })).toMatchObject({ code: 0 });
  expect(await save(join(folder, 'simulated'), { ...to, KAFKA_PARTITIONER: 'crc32' })).toMatchObject({ misplaced: {} });
});

test('a log that was murmur2 first and CRC32 later is noticed, and put back together as docs/tasks.md says', async () => {
  const KAFKA_TOPIC_PREFIX = await topics(3);
  await byKafkaJs(KAFKA_TOPIC_PREFIX, [metro('ulm'), ...ids.map((id) => ride(id, 'old')), ...bad]);
  const later = [...ids.slice(0, 12).map((id) => ride(id, 'new')), gone('ride13'), gone('ride14'), gone('ride15')];
  await byLibrdkafka(KAFKA_TOPIC_PREFIX, [metro('bonn'), ...later, ...bad]);
  const isDivided = ([first, ...others]: TopicRecord[]) =>
    others.some(({ partition }) => partition !== first!.partition);
  const divided = [...(await ridesIn(KAFKA_TOPIC_PREFIX)).values()].filter(isDivided).length;
  expect(divided).toBeGreaterThan(4);
  const misplaced = { rides: { records: divided, first: expect.stringMatching(/^rides\/[012]@\d+$/) } };
  const log = { KAFKA_TOPIC_PREFIX, KAFKA_BROKERS: kafkaBrokers() };
  expect(await save(join(folder, 'seen'), log)).toMatchObject({ misplaced });

  const views = { REDIS_URL: redisUrl(), REDIS_KEY_PREFIX: freshKeyPrefix() };
  const projector = await processes.start('projector', { ...log, ...views });
  await projector.ready();
  const words = new RegExp(`${divided} misplaced records of rides, the first at rides/`);
  expect(await (await fetch(`${projector.origin}/readyz`)).text()).toMatch(words);
  const metrics = await (await fetch(`${projector.origin}/metrics`)).text();
  expect(metrics).toContain(`ride_calendar_misplaced_records_total{topic="rides"} ${divided}\n`);
  expect(metrics).toContain('ride_calendar_misplaced_records_total{topic="metros"} 0\n');
  const verified = await command(['verify', '--json'], { ...log, ...views });
  expect([verified.code, JSON.parse(verified.out.at(-1)!).summary]).toMatchObject([0, { differences: 0, misplaced }]);
  await projector.stop();

  const tasks = readFileSync(join(root, 'docs/tasks.md'), 'utf8');
  const to = freshTopicPrefix();
  const commands = /^```sh move\n([\s\S]*?)^```$/m
    .exec(tasks)![1]!
    .replace('archive load', 'archive load --repartition')
    .replace('ride-calendar-2.', to);
  const checkout = new Checkout({ ...log, KAFKA_PARTITIONER: 'murmur2' });
  await checkout.bash(commands).finally(() => checkout.close());
  const changes = [...ids.slice(6, 18).map((id) => ride(id, 'newest')), gone('ride1')];
  await byKafkaJs(to, changes);
  expect(await holds(to)).toEqual(wanted(...ids.map((id) => ride(id, 'old')), ...later, ...changes));
  expect(await save(join(folder, 'mended'), { KAFKA_TOPIC_PREFIX: to })).toMatchObject({ misplaced: {} });
  expect(await command(['topics', '--partitions', '16', '--check'], { KAFKA_TOPIC_PREFIX: to })).toMatchObject({
    code: 0,
  });
});
