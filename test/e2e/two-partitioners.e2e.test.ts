import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import kafkajs from 'kafkajs';
import { expect, test } from 'vitest';
import { encodeValue } from '../../schemas/avro/codec.ts';
import { gone, metro, ride } from '../reference/example-log.ts';
import type { LoggedRecord } from '../reference/facts.ts';
import { Checkout } from '../support/processes/guide.ts';
import { type Env, Processes, root } from '../support/processes/process.ts';
import { ran } from '../support/processes/ran.ts';
import { testStack } from '../support/processes/test-stack.ts';
import { freshKafka, freshRedis, freshTopicPrefix, kafkaBrokers } from '../support/servers/backends.ts';
import { kafkaClient } from '../support/servers/kafka.ts';
import { readTopic, type TopicRecord } from '../support/servers/kafka-topic.ts';
import { pythonWith } from '../support/servers/python-package.ts';

// docs/rules.md#one-partition-per-key, #archive-load-partitions: librdkafka's own producer and kafkajs on one log.

const librdkafka = `
import base64, json, sys
from confluent_kafka import Producer
producer = Producer({'bootstrap.servers': sys.argv[1]})
for topic, key, value, timestamp in json.loads(sys.argv[2]):
    producer.produce(topic, key=key, value=value and base64.b64decode(value), timestamp=timestamp)
    producer.poll(0)
sys.exit(producer.flush(30))`;

const open = testStack();
const processes = open.use(new Processes());

const ids = Array.from({ length: 24 }, (_, i) => `ride${i}`);
const old = ids.map((id) => ride(id, { title: 'old' }));
const deleted = (id: string) => gone('rides', id);
/** Keys that are no ride's: set aside, and never counted. */
const bad = ['no ride', 'é', 'a/b', 'x y'].map((key) => ({ ...ride('ride0'), key }));

const encoded = ({ topic, value }: LoggedRecord): Buffer | null => value && encodeValue(topic, value);
let ms = Date.now() - 600_000;
async function byLibrdkafka(prefix: string, records: readonly LoggedRecord[]): Promise<void> {
  const python = join(await pythonWith('confluent-kafka', '2.16.1'), 'python');
  const lines = records.map((one) => [prefix + one.topic, one.key, encoded(one)?.toString('base64') ?? null, ms++]);
  await promisify(execFile)(python, ['-c', librdkafka, kafkaBrokers(), JSON.stringify(lines)]);
}

async function byKafkaJs(prefix: string, records: readonly LoggedRecord[]): Promise<void> {
  const producer = kafkaClient().producer({ createPartitioner: kafkajs.Partitioners.DefaultPartitioner });
  await producer.connect();
  for (const one of records) {
    const messages = [{ key: one.key, value: encoded(one), timestamp: String(ms++) }];
    await producer.send({ topic: prefix + one.topic, messages });
  }
  await producer.disconnect();
}

/** A command that prints JSON, with exit code 0: its last line. */
async function command(args: string[], env: Env) {
  const { code, out, err } = await ran(args, { KAFKA_BROKERS: kafkaBrokers(), LOG_LEVEL: 'error', ...env });
  expect([code, err]).toEqual([0, []]);
  return JSON.parse(out.at(-1) ?? 'null');
}
const save = async (env: Env) =>
  (await command(['archive', 'save', join(await processes.folder(), 'saved'), '--json'], env)).misplaced;

/** The records of each ride's key. */
async function ridesIn(prefix: string): Promise<Map<string, TopicRecord[]>> {
  const records = await readTopic(kafkaBrokers(), `${prefix}rides`);
  const ofRides = records.filter(({ key }) => ids.includes(String(key)));
  return Map.groupBy(ofRides, ({ key }) => String(key));
}

test('a log that was murmur2 first and CRC32 later is noticed, and put back together as docs/tasks.md says', async () => {
  const log = freshKafka();
  const { KAFKA_TOPIC_PREFIX } = log;
  await command(['topics', '--partitions', '3', '--json'], log);
  await byKafkaJs(KAFKA_TOPIC_PREFIX, [metro('ulm'), ...old, ...bad]);
  const later = [...ids.slice(0, 12).map((id) => ride(id, { title: 'new' })), ...ids.slice(13, 16).map(deleted)];
  await byLibrdkafka(KAFKA_TOPIC_PREFIX, [metro('bonn'), ...later, ...bad]);
  const isDivided = (records: TopicRecord[]) => new Set(records.map(({ partition }) => partition)).size > 1;
  const divided = [...(await ridesIn(KAFKA_TOPIC_PREFIX)).values()].filter(isDivided).length;
  expect(divided).toBeGreaterThan(4);
  const misplaced = { rides: { records: divided, first: expect.stringMatching(/^rides\/[012]@\d+$/) } };
  expect(await save(log)).toMatchObject(misplaced);

  const projector = await (await processes.start('projector', { ...log, ...freshRedis() })).ready();
  const words = new RegExp(`${divided} misplaced records of rides, the first at rides/`);
  expect(await (await fetch(`${projector.origin}/readyz`)).text()).toMatch(words);
  const metrics = await (await fetch(`${projector.origin}/metrics`)).text();
  expect(metrics).toContain(`ride_calendar_misplaced_records_total{topic="rides"} ${divided}\n`);
  expect(metrics).toContain('ride_calendar_misplaced_records_total{topic="metros"} 0\n');
  await projector.stop();

  const tasks = readFileSync(join(root, 'docs/tasks.md'), 'utf8');
  const [, commands] = /^```sh move\n([\s\S]*?)^```$/m.exec(tasks)!;
  const to = freshTopicPrefix();
  const checkout = open.use(new Checkout({ ...log, KAFKA_PARTITIONER: 'murmur2' }));
  const move = commands!.replace('archive load', 'archive load --repartition').replace('ride-calendar-2.', to);
  await checkout.bash(move);
  // Its producers go on there.
  const changes = [...ids.slice(6, 18).map((id) => ride(id, { title: 'newest' })), deleted('ride1')];
  await byKafkaJs(to, changes);
  const found = await ridesIn(to);
  expect([...found.values()].filter(isDivided)).toEqual([]);
  const wanted = [...old, ...later, ...changes];
  const latest = [...found].map(([key, records]) => [key, records.at(-1)!.value] as const);
  expect(new Map(latest)).toEqual(new Map(wanted.map((one) => [one.key, encoded(one)])));
  expect(await save({ KAFKA_TOPIC_PREFIX: to })).toEqual({});

  // Whoever declares CRC32 has librdkafka's partitions.
  const crc32 = { ...freshKafka(), KAFKA_PARTITIONER: 'crc32' };
  await command(['topics', '--partitions', '8', '--json'], crc32);
  await byLibrdkafka(crc32.KAFKA_TOPIC_PREFIX, [metro('ulm'), ...old, ...bad]);
  expect(await save(crc32)).toEqual({});
});
