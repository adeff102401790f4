import { setTimeout as sleep } from 'node:timers/promises';
import kafkajs, { type Admin, type Kafka } from 'kafkajs';
import { KafkaCluster } from '../../../infra/kafka/client/kafka-cluster.ts';
import type { KafkaConnection } from '../../../infra/kafka/client/kafka-connection.ts';
import { kafkaJs } from '../../../infra/kafka/client/kafka-js.ts';
import { kafkaEventLog } from '../../../infra/kafka/log/kafka-event-log.ts';
import { ensureTopics, untilTopicsExist } from '../../../infra/kafka/topics/ensure-topics.ts';
import type { EventLog, Position } from '../../../projector/ports/event-log.ts';
import { encodeValue } from '../../../schemas/avro/codec.ts';
import { WriterSchemas } from '../../../schemas/avro/writer-schemas.ts';
import { byTopic, type Metro, type TopicName, topicNames } from '../../../schemas/events/records.ts';
import type { LoggedRecord } from '../../reference/facts.ts';
import { keptLog, silentLog } from '../processes/heard.ts';
import { freshTopicPrefix, kafkaBrokers } from './backends.ts';
import { Following } from './following.ts';

interface SendOptions {
  partition?: number;
  compression?: kafkajs.CompressionTypes;
}

/** kafkajs as the product makes it: plain, it plans time-outs for the past, of which Node warns. */
export const kafkaClient = (brokers = kafkaBrokers()): Kafka =>
  kafkaJs({ brokers: brokers.split(','), ssl: false, sasl: null }, silentLog, new AbortController().signal);

/** Kafka for one test: topics of its own, and what tests do to them. Closes itself with `await using`. */
export class TestKafka implements AsyncDisposable {
  readonly connection: KafkaConnection;
  readonly topicPrefix: string;
  readonly #kept = keptLog();
  /** What it said is in `lines`. */
  readonly log = { ...this.#kept.log, lines: this.#kept.lines };
  readonly client: Kafka;
  readonly #opened: { close(): Promise<void> }[] = [];
  readonly #admin: Admin;

  /** The run's Kafka, or another one: its brokers, or all that it takes to connect. */
  constructor(kafka: string | KafkaConnection = kafkaBrokers(), topicPrefix = freshTopicPrefix()) {
    this.topicPrefix = topicPrefix;
    this.connection = typeof kafka === 'string' ? { brokers: kafka.split(','), ssl: false, sasl: null } : kafka;
    this.client = kafkaJs(this.connection, this.log, new AbortController().signal);
    this.#admin = this.client.admin();
  }

  /** What factories of infra/ take. */
  get options() {
    return { kafka: this.connection, topicPrefix: this.topicPrefix, log: this.log };
  }

  /** What commands take. */
  get env() {
    return { KAFKA_BROKERS: this.connection.brokers.join(), KAFKA_TOPIC_PREFIX: this.topicPrefix };
  }

  /** Connected once. */
  async admin(): Promise<Admin> {
    await this.#admin.connect();
    return this.#admin;
  }

  /** The nine topics, `partitions` each; `settings` beside Kafka's defaults. */
  async createTopics({ partitions = 1, settings = {} as Record<string, string> } = {}): Promise<void> {
    const entries = Object.entries({ 'cleanup.policy': 'compact', ...settings });
    const configEntries = entries.map(([name, value]) => ({ name, value }));
    const names = [...topicNames, 'rejected'].map((name) => this.topicPrefix + name);
    const topics = names.map((topic) => {
      return { topic, numPartitions: topic.endsWith('rejected') ? 1 : partitions, configEntries };
    });
    await (await this.admin()).createTopics({ waitForLeaders: false, topics });
    const cluster = new KafkaCluster(this.connection);
    await untilTopicsExist(cluster, names);
    await cluster.close();
  }

  /** Alters settings of a topic; those that are not given are Kafka's defaults again. Resolves once the broker says them. */
  async alterTopic(topic: TopicName | 'rejected', settings: Record<string, string>): Promise<void> {
    const admin = await this.admin();
    const resource = { type: kafkajs.ConfigResourceTypes.TOPIC, name: this.topicPrefix + topic };
    const configEntries = Object.entries(settings).map(([name, value]) => ({ name, value }));
    await admin.alterConfigs({ validateOnly: false, resources: [{ ...resource, configEntries }] });
    const isAltered = async (): Promise<boolean> => {
      const { resources } = await admin.describeConfigs({ includeSynonyms: false, resources: [resource] });
      const said = new Map(resources[0]!.configEntries.map(({ configName, configValue }) => [configName, configValue]));
      return configEntries.every(({ name, value }) => said.get(name) === value);
    };
    // It carries out what it has confirmed a little later.
    while (!(await isAltered())) await sleep(50);
  }

  /** A topic is deleted, and made again as `topics` does. */
  async makeAnew(name: TopicName | 'rejected'): Promise<void> {
    await (await this.admin()).deleteTopics({ topics: [this.topicPrefix + name] });
    // The broker may still tell of the one that it deletes.
    while (!(await ensureTopics(this.options)).some(({ state }) => state === 'created')) await sleep(50);
  }

  /** Deletes the records of a partition up to an offset. */
  async deleteRecords(name: TopicName | 'rejected', offset: number, partition = 0): Promise<void> {
    const admin = await this.admin();
    const topic = this.topicPrefix + name;
    // Or kafkajs does not know the topic's leaders.
    await admin.fetchTopicOffsets(topic);
    await admin.deleteTopicRecords({ topic, partitions: [{ partition, offset: String(offset) }] });
  }

  /** Sends some records of `metros` with the given keys, as one batch. */
  async sendMetros(keys: readonly string[], options: SendOptions = {}) {
    const messages = keys.map((key) => ({ key, value: metroValue(key) }));
    await this.sendRaw('metros', messages, options);
  }

  /** Publishes records one after another, all to partition 0. */
  async publish(...records: LoggedRecord[]): Promise<void> {
    for (const { topic, key, value } of records)
      await this.sendRaw(topic, [{ key, value: value && encodeValue(topic, value) }]);
  }

  async sendRaw(
    topic: TopicName | 'rejected',
    messages: { key: string | Buffer | null; value: Buffer | null; timestampMs?: number }[],
    { partition = 0, compression = kafkajs.CompressionTypes.None }: SendOptions = {},
  ) {
    const producer = this.client.producer({ createPartitioner: kafkajs.Partitioners.DefaultPartitioner });
    await producer.connect();
    const placed = messages.map(({ timestampMs = 1_700_000_000_000, ...message }) => {
      return { ...message, partition, timestamp: String(timestampMs) };
    });
    await producer.send({ topic: this.topicPrefix + topic, compression, messages: placed });
    await producer.disconnect();
  }

  /** An open transaction, of a producer that closes with this. */
  async transaction(): Promise<kafkajs.Transaction> {
    const transactionalId = `${this.topicPrefix}${this.#opened.length}`;
    const producer = this.client.producer({ transactionalId, maxInFlightRequests: 1, idempotent: true });
    await producer.connect();
    this.#opened.push({ close: () => producer.disconnect() });
    return producer.transaction();
  }

  eventLog(options: Partial<Parameters<typeof kafkaEventLog>[0]> = {}): EventLog {
    const eventLog = kafkaEventLog({ ...this.options, writers: new WriterSchemas(), schemas: null, ...options });
    this.#opened.push(eventLog);
    return eventLog;
  }

  /** Follows until aborted; what came is in `records`, by offset order of each partition. */
  follow(eventLog: EventLog, from: Position): Following {
    const following = new Following(eventLog, from);
    this.#opened.push({ close: () => following.stop().catch(() => undefined) });
    return following;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const one of this.#opened.reverse()) await one.close();
    await this.#admin.disconnect();
  }
}

export const metroValue = (metro: string): Buffer =>
  encodeValue('metros', { metro, name: metro, time_zone: 'Europe/Berlin', revision: 1, changed_at: 0 } satisfies Metro);

export const positionAt = (partitions: number, offset = 0): Position => byTopic(() => Array(partitions).fill(offset));

/** What kafkajs says of a topic's ends. A broker on a busy machine may lead nothing for a moment, and kafkajs gives up. */
export async function topicBounds(admin: Admin, topic: string) {
  for (const end = performance.now() + 15_000; ; await sleep(200)) {
    try {
      return await admin.fetchTopicOffsets(topic);
    } catch (error) {
      if (performance.now() > end) throw error;
    }
  }
}
