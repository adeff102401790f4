import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import kafkajs from 'kafkajs';
import { startKafkaBroker } from '../../infra/local/kafka-broker.ts';
import { type TopicName, topicNames } from '../../schemas/events/records.ts';
import { TestKafka } from '../support/servers/kafka.ts';
import { readArchive } from '../support/worlds/archive.ts';
import { forAnyVersion, runCommand } from './commands.ts';
import { otherCore, pin } from './pinned-process.ts';
import type { Bench, Row } from './versions.ts';

const partitions = 4;
/** Old timestamps would begin a segment with every batch, and have records compacted away meanwhile. */
const settings = { 'cleanup.policy': 'delete', 'retention.ms': '-1', 'segment.ms': String(2 ** 50) };
const batchRecords = 5_000;

type Message = { key: Buffer; value: Buffer | null; timestamp: string };
/** What a load publishes of a topic, in memory. */
type Messages = Record<TopicName, Message[]>;

const rowsOf = (name: string, to?: string): Row[] =>
  (['clock', 'CPU'] as const).map((of) => ({
    name: `${name}, ${of}`,
    unit: 's',
    ...(to && { to: `${to}, ${of}`, aim: '2' }),
  }));

/** `archive save` and `archive load` against a consumer and a producer that do nothing else, on the same broker. */
export const archive: Bench = {
  options: { riders: '60000' },
  async prepare([version], { riders }, ended) {
    pin(process.pid, otherCore);
    const dir = await mkdtemp(join(tmpdir(), 'ride-calendar-bench-'));
    ended.defer(() => rm(dir, { recursive: true, force: true }));
    const broker = await startKafkaBroker();
    ended.defer(() => broker.stop());
    pin(broker.pid, otherCore);
    const from = join(dir, 'archive');
    const sizes = ['--riders', riders!, '--rides', '1200', '--days', '60', '--rate', '0'];
    await runCommand(version!, ['simulate', '--archive', from, ...sizes], {});
    await forAnyVersion(from);
    const messages = await messagesOf(from);
    const records = topicNames.reduce((sum, topic) => sum + messages[topic].length, 0);
    let saves = 0;
    return {
      title: `Archive: ${records} records`,
      rows: [
        ...rowsOf('bare producer (kafkajs)'),
        ...rowsOf('archive load', 'bare producer (kafkajs)'),
        ...rowsOf('bare consumer (kafkajs)'),
        ...rowsOf('archive save', 'bare consumer (kafkajs)'),
        ...rowsOf('archive check'),
      ],
      async measure(each) {
        await using bare = new TestKafka(broker.brokers);
        await using loaded = new TestKafka(broker.brokers);
        for (const kafka of [bare, loaded]) await kafka.createTopics({ partitions, settings });
        const env = { KAFKA_BROKERS: broker.brokers, KAFKA_TOPIC_PREFIX: loaded.topicPrefix };
        const to = join(dir, `saved-${saves++}`);
        const costs = {
          'bare producer (kafkajs)': await produceBare(bare, messages),
          'archive load': await runCommand(each, ['archive', 'load', from], env),
          'bare consumer (kafkajs)': await consumeBare(loaded, records),
          'archive save': await runCommand(each, ['archive', 'save', to], env),
          'archive check': await runCommand(each, ['archive', 'check', to], {}),
        };
        await rm(to, { recursive: true });
        return Object.fromEntries(
          Object.entries(costs).flatMap(([name, { seconds, cpuSeconds }]) => [
            [`${name}, clock`, seconds],
            [`${name}, CPU`, cpuSeconds],
          ]),
        );
      },
    };
  },
};

async function messagesOf(dir: string): Promise<Messages> {
  const messages = Object.fromEntries(topicNames.map((topic) => [topic, []])) as unknown as Messages;
  for (const record of (await readArchive(dir)).records) {
    const { key, value } = record.raw();
    messages[record.topic].push({ key: key!, value, timestamp: String(record.timestampMs) });
  }
  return messages;
}

interface Cost {
  seconds: number;
  cpuSeconds: number;
}

/** What this process spends from now on. */
function costSince(): () => Cost {
  const startMs = performance.now();
  const start = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(start);
    return { seconds: (performance.now() - startMs) / 1_000, cpuSeconds: (user + system) / 1e6 };
  };
}

/** kafkajs alone, of messages that are in memory. */
async function produceBare(kafka: TestKafka, messages: Messages): Promise<Cost> {
  const since = costSince();
  const producer = kafka.client.producer({
    idempotent: true,
    maxInFlightRequests: 1,
    createPartitioner: kafkajs.Partitioners.DefaultPartitioner,
  });
  await producer.connect();
  for (const topic of topicNames) {
    for (let i = 0; i < messages[topic].length; i += batchRecords) {
      await producer.send({
        topic: kafka.topicPrefix + topic,
        messages: messages[topic].slice(i, i + batchRecords),
      });
    }
  }
  await producer.disconnect();
  return since();
}

/** kafkajs alone, from its first batch on: how long its group takes to form is no matter of speed. */
async function consumeBare(kafka: TestKafka, records: number): Promise<Cost> {
  let left = records;
  const consumer = kafka.client.consumer({ groupId: `${kafka.topicPrefix}bench` });
  await consumer.connect();
  await consumer.subscribe({ topics: topicNames.map((topic) => kafka.topicPrefix + topic), fromBeginning: true });
  const done = Promise.withResolvers<Cost>();
  let since: (() => Cost) | null = null;
  await consumer.run({
    partitionsConsumedConcurrently: 3,
    eachBatch: async ({ batch }) => {
      since ??= costSince();
      left -= batch.messages.length;
      if (left <= 0) done.resolve(since());
    },
  });
  const cost = await done.promise;
  await consumer.disconnect();
  return cost;
}
