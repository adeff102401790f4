import { setTimeout as sleep } from 'node:timers/promises';
import { kafkaPublisher } from '../../../infra/kafka/publishing/kafka-publisher.ts';
import { encodeValue } from '../../../schemas/avro/codec.ts';
import { crc32Partition, defaultPartitions } from '../../../schemas/events/partitioner.ts';
import type { TopicName } from '../../../schemas/events/records.ts';
import { silentLog } from '../../support/processes/heard.ts';
import { type HistoryWriter, nowMs } from '../history.ts';
import { type Change, firstRecords, nextVersions } from './probes.ts';

/** A value of a schema that nobody knows, once in so many changes. */
const badValue = Buffer.from('c301badbadbadbadbad0', 'hex');
const badEvery = 60;
/** Changes, 20 a second. */
const stepMs = 50;

/** Portland's log is declared crc32. */
export const partitionOf = (topic: TopicName, key: string): number =>
  crc32Partition(Buffer.from(key), defaultPartitions[topic]);

export type Publisher = Awaited<ReturnType<typeof startPublisher>>;

/** Upstream: the first version of each probe, and from `start` on new ones at a steady rate and some bad records, all in the history. */
export async function startPublisher(brokers: string, topicPrefix: string, history: HistoryWriter) {
  const kafka = { brokers: brokers.split(','), ssl: false, sasl: null };
  const connect = () => kafkaPublisher({ kafka, topicPrefix, log: silentLog });
  const versions = nextVersions();
  /** The last version of each probe that was acknowledged. */
  const published = new Map<string, number>();
  let publisher = connect();
  let isOver = false;
  let held = 0;
  let inFlight: Promise<void> = Promise.resolve();
  let running: Promise<void> = Promise.resolve();

  async function send({ topic, key, value, version }: Change, as: 'good' | 'bad' = 'good'): Promise<void> {
    const sent = nowMs();
    const partition = partitionOf(topic, key);
    const encoded = as === 'bad' ? badValue : value && encodeValue(topic, value as never);
    let offset: number | null = null;
    try {
      const records = [{ key, value: encoded, partition, timestampMs: Date.now() }];
      offset = (await publisher.publish(topic, records)).get(partition) ?? null;
    } catch (error) {
      console.error(`Not acknowledged: ${(error as Error).message}`);
      await sleep(200);
    }
    history.add('publish', { sent, as, topic, partition, offset, version });
    if (version && offset !== null) published.set(version.probe, version.n);
  }

  async function next(count: number): Promise<void> {
    // Its key's last good record stays in force, and a later one resolves it.
    if (count % badEvery === 0) await send({ topic: 'rides', key: 'title1', value: null, version: null }, 'bad');
    for (const change of versions.next().value) await send(change);
  }

  async function run(): Promise<void> {
    let dueMs = nowMs();
    for (let count = 1; !isOver; count++) {
      await sleep(Math.max(0, dueMs - nowMs()));
      while (held > 0) await sleep(20);
      inFlight = next(count);
      await inFlight;
      dueMs = Math.max(dueMs + stepMs, nowMs() - 1_000);
    }
  }

  for (const change of firstRecords()) await send(change);
  return {
    published,
    start(): void {
      running = run();
    },
    /** Resolves once all that was sent is acknowledged. */
    async stop(): Promise<void> {
      isOver = true;
      await running;
      await publisher.close();
    },
    /** While `during` runs nothing is sent, and what was sent before is acknowledged. Then it goes on with a new producer. */
    async holdWhile(during: () => Promise<void>): Promise<void> {
      held++;
      try {
        await inFlight;
        await during();
      } finally {
        await publisher.close();
        publisher = connect();
        held--;
      }
    },
  };
}
