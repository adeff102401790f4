import { setTimeout as sleep } from 'node:timers/promises';
import { Producer } from '@platformatic/kafka';
import kafkajs from 'kafkajs';
import { kafkaPublisher } from '../../../infra/kafka/publishing/kafka-publisher.ts';
import type { LogPublisher } from '../../../projector/ports/log-publisher.ts';
import { encodeValue } from '../../../schemas/avro/codec.ts';
import { crc32Partition, defaultPartitions } from '../../../schemas/events/partitioner.ts';
import type { AnyRecord, Ride, TopicName } from '../../../schemas/events/records.ts';
import { silentLog } from '../../support/processes/heard.ts';
import { kafkaClient } from '../../support/servers/kafka.ts';
import { type HistoryWriter, nowMs } from './history-writer.ts';
import { type Change, firstRecords, nextVersions } from './probes.ts';

/** A value of a schema that nobody knows. */
const badValue = Buffer.from('c301badbadbadbadbad0', 'hex');
/** A bad record comes once in so many changes. */
const badEvery = 60;
/** A leader has read by then what was sent before. */
const readByMs = 3_000;

interface PublisherOptions {
  brokers: string;
  topicPrefix: string;
  history: HistoryWriter;
  /** Changes a second. */
  rate: number;
}

/** Upstream: new versions of the probes at a steady rate, and bad records now and then. Each is in the history. */
export class Publisher {
  readonly #options: PublisherOptions;
  #publisher: LogPublisher;
  readonly #versions = nextVersions();
  #isOver = false;
  #running: Promise<void> = Promise.resolve();
  #held = 0;
  #isGood = false;
  #inFlight: Promise<unknown> = Promise.resolve();
  #count = 0;
  /** The last version of each probe that was acknowledged. */
  readonly published = new Map<string, NonNullable<Change['version']>>();

  constructor(options: PublisherOptions) {
    this.#options = options;
    this.#publisher = this.#connect();
  }

  #connect(): LogPublisher {
    const { brokers, topicPrefix } = this.#options;
    const kafka = { brokers: brokers.split(','), ssl: false, sasl: null };
    return kafkaPublisher({ kafka, topicPrefix, log: silentLog });
  }

  /** The first version of each probe. */
  async begin(): Promise<void> {
    for (const change of firstRecords()) await this.#change(change);
  }

  start(): void {
    this.#running = this.#run();
  }

  /** Resolves once all that was sent is acknowledged. */
  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#running;
    await this.#publisher.close();
  }

  /** While `during` runs nothing is sent, and what was sent before is acknowledged. Then it goes on with a new producer. */
  async holdWhile<T>(during: () => Promise<T>): Promise<T> {
    this.#held++;
    try {
      await this.#inFlight;
      return await during();
    } finally {
      await this.#publisher.close();
      this.#publisher = this.#connect();
      this.#held--;
    }
  }

  /** While `during` runs no bad record is sent: one that is compacted away before a projector reads it is set aside by nobody. */
  async withoutBadWhile<T>(during: () => Promise<T>): Promise<T> {
    this.#isGood = true;
    await sleep(readByMs);
    return during().finally(() => {
      this.#isGood = false;
    });
  }

  async #run(): Promise<void> {
    const stepMs = 1_000 / this.#options.rate;
    for (let dueMs = nowMs(); !this.#isOver; dueMs = Math.max(dueMs + stepMs, nowMs() - 1_000)) {
      await sleep(Math.max(0, dueMs - nowMs()));
      while (this.#held > 0) await sleep(20);
      this.#inFlight = this.#next();
      await this.#inFlight;
    }
  }

  async #next(): Promise<void> {
    if (++this.#count % badEvery === 0 && !this.#isGood) await this.publishBad('title1');
    for (const change of this.#versions.next().value!) await this.#change(change);
  }

  /** A record beside the probes. */
  async publish(topic: TopicName, key: string, value: AnyRecord | null): Promise<void> {
    await this.#change({ topic, key, value, version: null });
  }

  async #change({ topic, key, value, version }: Change): Promise<void> {
    const encoded = value && encodeValue(topic, value as never);
    const offset = await this.#send('good', topic, key, version, encoded);
    if (version && offset !== null) this.published.set(version.probe, version);
  }

  /** A bad record: its key's last good one stays in force, and a later one resolves it. */
  async publishBad(key: string): Promise<void> {
    await this.#send('bad', 'rides', key, null, badValue);
  }

  async #send(as: 'good' | 'bad', topic: TopicName, key: string, version: Change['version'], value: Buffer | null) {
    const sent = nowMs();
    // Portland's log is declared crc32.
    const partition = crc32Partition(Buffer.from(key), defaultPartitions[topic]);
    let offset: number | null = null;
    try {
      const offsets = await this.#publisher.publish(topic, [{ key, value, partition, timestampMs: Date.now() }]);
      offset = offsets.get(partition) ?? null;
    } catch (error) {
      console.error(`Not acknowledged: ${(error as Error).message}`);
      await sleep(200);
    }
    this.#options.history.add({ type: 'publish', sent, as, topic, partition, offset, version });
    return offset;
  }

  /** Sends one batch of a few kilobytes that unpacks to more than is allowed. */
  async publishBomb(partition: number): Promise<void> {
    const { brokers, topicPrefix, history } = this.#options;
    const producer = new Producer({ clientId: 'bombs', bootstrapBrokers: brokers.split(',') });
    const value = Buffer.alloc(33 << 20);
    const topic = `${topicPrefix}rides`;
    const messages = ['a', 'b'].map((key) => ({ topic, partition, key: Buffer.from(key), value }));
    const sent = nowMs();
    const { offsets } = await producer.send({ messages, compression: 'zstd' });
    await producer.close();
    const offset = Number(offsets![0]!.offset);
    history.add({ type: 'publish', sent, as: 'bad', topic: 'rides', partition, offset, version: null });
  }

  /** Sends titles in a transaction that is open for so long, and then aborted. No answer may show them. */
  async abortTransaction(id: string, openMs: number): Promise<void> {
    const { brokers, topicPrefix, history } = this.#options;
    const producer = kafkaClient(brokers).producer({
      transactionalId: `${topicPrefix}${id}`,
      maxInFlightRequests: 1,
      idempotent: true,
      createPartitioner: kafkajs.Partitioners.DefaultPartitioner,
    });
    await producer.connect();
    const transaction = await producer.transaction();
    const sent = nowMs();
    const value = encodeValue('rides', { ...(firstTitle.value as Ride), title: 'aborted' });
    const [written] = await transaction.send({
      topic: `${topicPrefix}rides`,
      messages: [{ key: firstTitle.key, value }],
    });
    await sleep(openMs);
    await transaction.abort();
    await producer.disconnect();
    const { partition, baseOffset } = written!;
    const offset = Number(baseOffset);
    history.add({ type: 'publish', sent, as: 'aborted', topic: 'rides', partition, offset, version: null });
  }
}

const firstTitle = [...firstRecords()].find(({ key }) => key === 'title1')!;
