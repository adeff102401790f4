import { setTimeout as sleep } from 'node:timers/promises';
import { kafkaPublisher } from '../../../infra/kafka/publishing/kafka-publisher.ts';
import type { LogPublisher } from '../../../projector/ports/log-publisher.ts';
import { encodeValue } from '../../../schemas/avro/codec.ts';
import { crc32Partition, defaultPartitions } from '../../../schemas/events/partitioner.ts';
import type { TopicName } from '../../../schemas/events/records.ts';
import { silentLog } from '../../support/processes/heard.ts';
import { type HistoryWriter, nowMs } from '../history.ts';
import { type Change, firstRecords, nextVersions } from './probes.ts';

/** A value of a schema that nobody knows. */
const badValue = Buffer.from('c301badbadbadbadbad0', 'hex');
/** A bad record comes once in so many changes. */
const badEvery = 60;
/** Changes, 20 a second. */
const stepMs = 50;

/** Upstream: new versions of the probes at a steady rate, and bad records now and then. Each is in the history. */
export class Publisher {
  readonly #connect: () => LogPublisher;
  readonly #history: HistoryWriter;
  #publisher: LogPublisher;
  readonly #versions = nextVersions();
  #isOver = false;
  #running: Promise<void> = Promise.resolve();
  #held = 0;
  #inFlight: Promise<unknown> = Promise.resolve();
  #count = 0;
  /** The last version of each probe that was acknowledged. */
  readonly published = new Map<string, NonNullable<Change['version']>>();

  constructor(brokers: string, topicPrefix: string, history: HistoryWriter) {
    const kafka = { brokers: brokers.split(','), ssl: false, sasl: null };
    this.#connect = () => kafkaPublisher({ kafka, topicPrefix, log: silentLog });
    this.#publisher = this.#connect();
    this.#history = history;
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
  async holdWhile(during: () => Promise<void>): Promise<void> {
    this.#held++;
    try {
      await this.#inFlight;
      await during();
    } finally {
      await this.#publisher.close();
      this.#publisher = this.#connect();
      this.#held--;
    }
  }

  async #run(): Promise<void> {
    for (let dueMs = nowMs(); !this.#isOver; dueMs = Math.max(dueMs + stepMs, nowMs() - 1_000)) {
      await sleep(Math.max(0, dueMs - nowMs()));
      while (this.#held > 0) await sleep(20);
      this.#inFlight = this.#next();
      await this.#inFlight;
    }
  }

  async #next(): Promise<void> {
    // Its key's last good record stays in force, and a later one resolves it.
    if (++this.#count % badEvery === 0) await this.#send('bad', 'rides', 'title1', null, badValue);
    for (const change of this.#versions.next().value!) await this.#change(change);
  }

  async #change({ topic, key, value, version }: Change): Promise<void> {
    const encoded = value && encodeValue(topic, value as never);
    const offset = await this.#send('good', topic, key, version, encoded);
    if (version && offset !== null) this.published.set(version.probe, version);
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
    this.#history.add({ type: 'publish', sent, as, topic, partition, offset, version });
    return offset;
  }
}
