import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import kafkajs from 'kafkajs';
import { kafkaEventLog } from '../../infra/kafka/kafka-event-log.ts';
import { kafkaPublisher } from '../../infra/kafka/kafka-publisher.ts';
import { startKafkaBroker } from '../../infra/local/kafka-broker.ts';
import type { LogBounds } from '../../projector/ports/event-log.ts';
import { WriterSchemas } from '../../schemas/avro/writer-schemas.ts';
import { type TopicName, topicNames } from '../../schemas/events/records.ts';
import { loadSettings } from '../../services/settings/settings.ts';
import { defaultSizes } from '../../services/simulate/sizes.ts';
import { runSimulate } from '../../services/simulate.ts';
import { archiveLoad } from '../../services/wiring/archive/archive-load.ts';
import { archiveSave } from '../../services/wiring/archive/archive-save.ts';
import { followToEnds } from '../../services/wiring/backends/follow-to-ends.ts';
import { assertReadable } from '../../services/wiring/backends/readable-archive.ts';
import { readArchive, startOf } from '../support/archive.ts';
import { TestKafka } from '../support/kafka.ts';
import { median, table, thousands } from './statistics.ts';

const partitions = 4;
/** Old timestamps would begin a segment with every batch, and have records compacted away meanwhile. */
const settings = { 'cleanup.policy': 'delete', 'retention.ms': '-1', 'segment.ms': String(2 ** 50) };
const rounds = 3;
const batchRecords = 5_000;
const { signal } = new AbortController();

/** By the clock, and of this process's CPU. */
interface Cost {
  seconds: number;
  cpuSeconds: number;
}

type Message = { key: Buffer; value: Buffer | null; timestamp: string };
/** What a load publishes of a topic, in memory. */
type Messages = Record<TopicName, Message[]>;

/** `archive save` and `archive load` against a consumer and a producer that do nothing else, on the same broker. */
export async function benchArchive(): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), 'ride-calendar-bench-'));
  const broker = await startKafkaBroker();
  try {
    const archive = join(dir, 'archive');
    const sizes = { ...defaultSizes, riders: 60_000, rides: 1_200, days: 60 };
    const io = { out: () => {}, err: () => {}, watched: false, signal };
    await runSimulate({ ...sizes, rate: 0, archive, json: true }, loadSettings({}), io);
    const messages = await messagesOf(archive);
    const costs: Record<string, Cost[]> = {};
    for (let round = 0; round < rounds; round++) {
      for (const [name, cost] of Object.entries(await oneRound(broker.brokers, dir, archive, messages, round))) {
        costs[name] ??= [];
        costs[name].push(cost);
      }
    }
    print(
      costs,
      topicNames.reduce((sum, topic) => sum + messages[topic].length, 0),
    );
  } finally {
    await broker.stop();
    await rm(dir, { recursive: true, force: true });
  }
}

async function messagesOf(dir: string): Promise<Messages> {
  const messages = Object.fromEntries(topicNames.map((topic) => [topic, []])) as unknown as Messages;
  for (const record of (await readArchive(dir)).records) {
    const { key, value } = record.raw();
    messages[record.topic].push({ key: key!, value, timestamp: String(record.timestampMs) });
  }
  return messages;
}

async function oneRound(brokers: string, dir: string, archive: string, messages: Messages, round: number) {
  await using bare = new TestKafka(brokers);
  await using loaded = new TestKafka(brokers);
  for (const kafka of [bare, loaded]) await kafka.createTopics({ partitions, settings });
  const produce = await timed(() => produceBare(bare, messages));
  const load = await timed(() => loadInto(loaded, archive));
  const consume = await consumeBare(loaded);
  const fetch = await timed(() => fetchBare(loaded));
  const save = await timed(() => saveFrom(loaded, join(dir, `saved-${round}`)));
  const read = await timed(async () => void (await readArchive(archive)));
  const compare = await timed(() => assertReadable(archive, 'ride-calendar.', false, { warn: () => {} }));
  return { produce, load, consume, fetch, save, read, compare };
}

async function timed(run: () => Promise<void>): Promise<Cost> {
  const since = costSince();
  await run();
  return since();
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
async function produceBare(kafka: TestKafka, messages: Messages): Promise<void> {
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
}

async function loadInto(kafka: TestKafka, dir: string): Promise<void> {
  const publisher = kafkaPublisher({ ...kafka.options });
  const log = openLog(kafka);
  await archiveLoad({ dir }, { publisher, log }, { signal, append: false, keepPartitions: false });
  await Promise.all([publisher.close(), log.close()]);
}

/** kafkajs alone, from its first batch on: how long its group takes to form is no matter of speed. */
async function consumeBare(kafka: TestKafka): Promise<Cost> {
  const log = openLog(kafka);
  let left = countOf(await log.bounds());
  await log.close();
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

/** The product's own fetching, with nothing decoded. */
async function fetchBare(kafka: TestKafka): Promise<void> {
  const log = openLog(kafka);
  const bounds = await log.bounds();
  await followToEnds(log, startOf(bounds), bounds, signal, async () => {});
  await log.close();
}

async function saveFrom(kafka: TestKafka, dir: string): Promise<void> {
  const log = openLog(kafka);
  await archiveSave(log, async () => {}, dir, { signal });
  await log.close();
}

const openLog = (kafka: TestKafka) => kafkaEventLog({ ...kafka.options, writers: new WriterSchemas(), registry: null });

const countOf = (bounds: LogBounds): number =>
  topicNames.flatMap((topic) => bounds[topic]).reduce((sum, { low, end }) => sum + end - low, 0);

function print(costs: Record<string, Cost[]>, records: number): void {
  const rate = (name: string, of: keyof Cost) => thousands(records / median(costs[name]!.map((cost) => cost[of])));
  const ratio = (name: string, to: string, of: keyof Cost) =>
    median(costs[name]!.map((cost, round) => costs[to]![round]![of] / cost[of])).toFixed(2);
  console.log(`archive: ${records} records, ${rounds} rounds, medians; rates as ratios within a round\n`);
  const row = (what: string, name: string, to?: string) => [
    what,
    ...(['seconds', 'cpuSeconds'] as const).flatMap((of) => [rate(name, of), to ? ratio(name, to, of) : '']),
  ];
  console.log(
    table(
      ['', 'records/s', 'ratio', 'records per CPU-second', 'ratio'],
      [
        row('bare producer (kafkajs)', 'produce'),
        row('archive load', 'load', 'produce'),
        row('bare consumer (kafkajs)', 'consume'),
        row('archive save', 'save', 'consume'),
        row('bare fetch', 'fetch'),
        row('archive save', 'save', 'fetch'),
        row('reading an archive', 'read'),
        row('comparing its hashes', 'compare', 'read'),
      ],
    ),
  );
}
