import { expect, vi } from 'vitest';
import { encodeValue } from '../../../../schemas/avro/codec.ts';
import type { TopicName } from '../../../../schemas/events/records.ts';
import type { EventLogFixture, FixtureRecord } from '../../../contracts/event-log.ts';
import { TestKafka, topicBounds } from '../../../support/servers/kafka.ts';

/** Kafka for the contract suite of event logs. */
export class KafkaFixture implements EventLogFixture {
  readonly #kafka = new TestKafka();

  async createTopics(partitions: number): Promise<void> {
    // `delete`, for deleteBefore alone: nothing is old enough.
    await this.#kafka.createTopics({
      partitions,
      settings: { 'cleanup.policy': 'compact,delete', 'retention.ms': '-1' },
    });
  }

  async append(topic: TopicName, partition: number, records: FixtureRecord[]): Promise<void> {
    const messages = records.map(({ value, ...record }) => ({
      ...record,
      value: value && encodeValue(topic, value as never),
    }));
    await this.#kafka.sendRaw(topic, messages, { partition });
  }

  async appendUndecodable(topic: TopicName, partition: number, key: string): Promise<void> {
    await this.#kafka.sendRaw(topic, [{ key, value: Buffer.from('no Avro') }], { partition });
  }

  /** An aborted transaction: its records and one control record. */
  async skipOffsets(topic: TopicName, partition: number, count: number): Promise<void> {
    const before = await this.#end(topic, partition);
    const transaction = await this.#kafka.transaction();
    const messages = Array.from({ length: count - 1 }, () => ({ key: 'aborted', value: 'aborted', partition }));
    await transaction.send({ topic: this.#kafka.topicPrefix + topic, messages });
    await transaction.abort();
    // The control record is written some time after the answer.
    await vi.waitFor(async () => expect(await this.#end(topic, partition)).toBe(before + count), { timeout: 10_000 });
  }

  async #end(topic: TopicName, partition: number): Promise<number> {
    const offsets = await topicBounds(await this.#kafka.admin(), this.#kafka.topicPrefix + topic);
    return Number(offsets.find((one) => one.partition === partition)!.high);
  }

  async addPartition(topic: TopicName): Promise<void> {
    const name = this.#kafka.topicPrefix + topic;
    const admin = await this.#kafka.admin();
    const { topics } = await admin.fetchTopicMetadata({ topics: [name] });
    await admin.createPartitions({ topicPartitions: [{ topic: name, count: topics[0]!.partitions.length + 1 }] });
  }

  async deleteBefore(topic: TopicName, partition: number, offset: number): Promise<void> {
    await this.#kafka.deleteBefore(topic, partition, offset);
  }

  open() {
    return this.#kafka.eventLog({ checkEveryMs: 200 });
  }

  async close(): Promise<void> {
    await this.#kafka[Symbol.asyncDispose]();
  }
}
