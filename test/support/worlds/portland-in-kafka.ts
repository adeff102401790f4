import { kafkaPublisher } from '../../../infra/kafka/publishing/kafka-publisher.ts';
import type { LogPublisher } from '../../../projector/ports/log-publisher.ts';
import { encodeValue } from '../../../schemas/avro/codec.ts';
import { crc32Partition, defaultPartitions } from '../../../schemas/events/partitioner.ts';
import type { AnyRecord, Night, Ride, TopicName } from '../../../schemas/events/records.ts';
import { silentLog } from '../processes/heard.ts';
import type { Env } from '../processes/process.ts';
import { ran } from '../processes/ran.ts';
import { freshGroup, freshTopicPrefix, kafkaBrokers } from '../servers/backends.ts';
import type { HistoryRecord } from './histories.ts';
import { portlandDirectory, readPortland } from './portland.ts';

/** Portland's calendar in topics of its own, as processes are told of them, and what is published there since. */
export class PortlandInKafka {
  readonly env: Env;
  /** Every record that was published, in the order of each key's. */
  readonly records: HistoryRecord[];
  readonly #publisher: LogPublisher;

  private constructor(records: HistoryRecord[], brokers: string) {
    this.records = records;
    const topicPrefix = freshTopicPrefix();
    this.env = {
      KAFKA_BROKERS: brokers,
      KAFKA_TOPIC_PREFIX: topicPrefix,
      KAFKA_GROUP: freshGroup(),
      // Portland's riders publish with librdkafka.
      KAFKA_PARTITIONER: 'crc32',
    };
    const kafka = { brokers: brokers.split(','), ssl: false, sasl: null };
    this.#publisher = kafkaPublisher({ kafka, topicPrefix, log: silentLog });
  }

  static async load(brokers = kafkaBrokers()): Promise<PortlandInKafka> {
    const portland = new PortlandInKafka(await readPortland(), brokers);
    for (const command of [['topics'], ['archive', 'load', portlandDirectory]]) {
      const { code, err } = await ran(command, { ...portland.env, LOG_LEVEL: 'error' });
      if (code !== 0) throw new Error(err.join('\n'));
    }
    return portland;
  }

  /** The last record of a key. */
  last(topic: TopicName, key: string): AnyRecord | null {
    return this.records.findLast((record) => record.topic === topic && record.key === key)!.value;
  }

  /** All in one batch. */
  async publish(topic: TopicName, ...changes: { key: string; value: AnyRecord | null }[]): Promise<void> {
    const timestampMs = Date.now();
    const encoded = changes.map(({ key, value }) => ({
      key,
      partition: crc32Partition(Buffer.from(key), defaultPartitions[topic]),
      timestampMs,
      value: value && encodeValue(topic, value),
    }));
    await this.#publisher.publish(topic, encoded);
    this.records.push(...changes.map((change) => ({ topic, partition: 0, offset: 0, timestampMs, ...change })));
  }

  /** Publishes rides, each with one night. Their ids. */
  async publishRides(count = 1): Promise<string[]> {
    const like = (topic: TopicName) =>
      this.records.find((record) => record.topic === topic && record.value !== null)!.value!;
    const ids = Array.from({ length: count }, (_, i) => `new${this.records.length}x${i}`);
    const rides = ids.map((ride) => ({ ...(like('rides') as Ride), ride, title: `Ride ${ride}`, posted: true }));
    const nights = ids.map((ride) => ({ ...(like('nights') as Night), ride, meeting: null }));
    await this.publish('rides', ...rides.map((value) => ({ key: value.ride, value })));
    const dayOf = ({ day }: Night) => new Date(day * 86_400_000).toISOString().slice(0, 10);
    await this.publish('nights', ...nights.map((value) => ({ key: `${value.ride}/${dayOf(value)}`, value })));
    return ids;
  }

  close(): Promise<void> {
    return this.#publisher.close();
  }
}
