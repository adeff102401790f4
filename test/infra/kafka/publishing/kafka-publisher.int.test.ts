import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { KafkaCluster, type KafkaTopic } from '../../../../infra/kafka/client/kafka-cluster.ts';
import type { FetchedPartition } from '../../../../infra/kafka/protocol/fetch-api.ts';
import { kafkaPublisher } from '../../../../infra/kafka/publishing/kafka-publisher.ts';
import { ensureTopics } from '../../../../infra/kafka/topics/ensure-topics.ts';
import { MissingTopicsError } from '../../../../projector/ports/event-log.ts';
import { positionOf } from '../../../../projector/position/position.ts';
import { metroValue, positionAt, TestKafka } from '../../../support/servers/kafka.ts';

const record = (key: string, more = {}) => ({ key, value: metroValue(key), timestampMs: 1_600_000_000_000, ...more });

function publisherOf(kafka: TestKafka) {
  const publisher = kafkaPublisher(kafka.options);
  return Object.assign(publisher, { [Symbol.asyncDispose]: () => publisher.close() });
}

test('records keep their order, time, headers and the partition given; else the key decides, as in Java', async () => {
  await using kafka = new TestKafka();
  await kafka.createTopics({ partitions: 8 });
  await using publisher = publisherOf(kafka);
  const headers = ['trace:7', 'trace:é', 'empty:'].map((text) => {
    const [key, value] = text.split(':') as [string, string];
    return { key, value: Buffer.from(value) };
  });
  const placed = [
    record('aa', { partition: 3, headers: [...headers, { key: 'none', value: null }] }),
    record('bb', { partition: 3 }),
  ];
  const first = await publisher.publish('metros', placed);
  await publisher.publish('metros', [record('foobar', { value: null }), record('abc'), record('21')]);
  const following = kafka.follow(kafka.eventLog(), positionAt(8));
  await expect.poll(() => following.records.length).toBe(5);
  const byKey = new Map(following.records.map((one) => ['key' in one ? one.key : '', one]));
  // Of the vectors in Kafka's own UtilsTest: murmur2("foobar") is -790332482, "abc" 479470107, "21" -973932308.
  expect(['foobar', 'abc', '21'].map((key) => byKey.get(key)!.partition)).toEqual([6, 3, 4]);
  expect(byKey.get('foobar')).toMatchObject({ value: null, timestampMs: 1_600_000_000_000 });
  expect(byKey.get('aa')).toMatchObject({
    partition: 3,
    offset: 0,
    headers: [...headers, { key: 'none', value: Buffer.alloc(0) }],
  });
  expect(byKey.get('bb')).toMatchObject({ partition: 3, offset: 1 });
  expect(first).toEqual(new Map([[3, 0]]));
  // By a producer whose repeated batches the broker knows, compressed by zstd.
  await using cluster = new AsyncDisposableStack();
  const asked = cluster.adopt(new KafkaCluster(kafka.connection), (one) => one.close());
  const [{ id: topicId, partitions }] = (await asked.topics([`${kafka.topicPrefix}metros`])) as [KafkaTopic];
  const place = { topicId, partition: 3, offset: 0, leaderEpoch: -1, lastEpoch: -1 };
  const [{ batches }] = (await asked.fetch(partitions[3]!.node, [place], 500)) as [FetchedPartition];
  expect([batches[0]!.producerId >= 0n, batches[0]!.attributes & 7]).toEqual([true, 4]);
});

test('a topic that is missing is named; once it is there, many and large records arrive, each once and in order', async () => {
  await using kafka = new TestKafka();
  await using publisher = publisherOf(kafka);
  await expect(publisher.publish('metros', [record('aa')])).rejects.toThrow(MissingTopicsError);
  await ensureTopics(kafka.options);
  // Two of them are more than a broker takes as one batch, however it is packed.
  const big = () => Buffer.concat([metroValue('big'), randomBytes(540_000)]);
  const keys = Array.from({ length: 12_000 }, (_, i) => `m${i}`);
  const large = ['x1', 'x2', 'x3'].map((key) => record(key, { value: big() }));
  const first = await publisher.publish('metros', [...keys.map((key) => record(key)), ...large]);
  expect(first).toEqual(new Map([[0, 0]]));
  const from = await kafka.eventLog().bounds();
  expect(from.metros).toEqual([{ low: 0, end: 12_003 }]);
  const following = kafka.follow(kafka.eventLog(), positionOf(from, 'low'));
  await expect.poll(() => following.position.metros).toEqual([12_003]);
  expect(following.keys).toEqual([...keys, ...large.map(() => 'trailing bytes')]);
  const ahead = record('late', { timestampMs: Date.now() + 2 * 86_400_000 });
  await expect(publisher.publish('metros', [ahead])).rejects.toThrow(
    "its clock is ahead of Kafka's by more than the topic's message.timestamp.after.max.ms: set the clocks right",
  );
});
