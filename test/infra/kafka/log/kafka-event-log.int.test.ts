import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test, vi } from 'vitest';
import { SchemaRegistryAwayError } from '../../../../infra/registry/schema-registry.ts';
import { LogTruncatedError, PartitionsChangedError } from '../../../../projector/ports/event-log.ts';
import { eventLogContract } from '../../../contracts/event-log.ts';
import { metroValue, positionAt, TestKafka } from '../../../support/servers/kafka.ts';
import { KafkaFixture } from './kafka-fixture.ts';

eventLogContract('Kafka', async () => new KafkaFixture());

const soon = { timeout: 20_000, interval: 50 };

describe('what is read', () => {
  test('what cannot be decoded comes with a reason, and as it came', async () => {
    await using kafka = new TestKafka();
    // A compacted topic takes no record without a key.
    await kafka.createTopics({ settings: { 'cleanup.policy': 'delete', 'retention.ms': '-1' } });
    await kafka.sendRaw('metros', [
      { key: null, value: metroValue('kiel') },
      { key: Buffer.from([0xff]), value: metroValue('kiel') },
      { key: 'kiel', value: Buffer.from('{}') },
      { key: 'kiel', value: Buffer.from([0, 0, 0, 0, 7, 1]) },
    ]);
    const following = kafka.follow(kafka.eventLog(), positionAt(1));
    await vi.waitFor(() => expect(following.position.metros).toEqual([4]), soon);
    expect(following.metros).toEqual(['no key', 'key is not UTF-8', 'not Avro', 'unknown schema id']);
    expect(following.records[2]!.raw()).toEqual({ key: Buffer.from('kiel'), value: Buffer.from('{}'), headers: {} });
  });

  test('batches larger than what a fetch asks for are read whole, wherever they are, and what follows them', async () => {
    await using kafka = new TestKafka();
    await kafka.createTopics({ partitions: 3, settings: { 'max.message.bytes': String(8 << 20) } });
    const large = (bytes: number) => ({ key: 'kiel', value: randomBytes(bytes) });
    for (let partition = 0; partition < 3; partition++) {
      for (const bytes of [300 << 10, 3 << 20, 900 << 10]) await kafka.sendRaw('metros', [large(bytes)], { partition });
      await kafka.sendRaw('metros', [{ key: 'kiel', value: metroValue('kiel') }], { partition });
    }
    const following = kafka.follow(kafka.eventLog(), positionAt(3));
    await vi.waitFor(() => expect(following.position.metros).toEqual([4, 4, 4]), soon);
    const lengths = [0, 1, 2].map((partition) =>
      following.records.filter((record) => record.partition === partition).map((record) => record.raw().value!.length),
    );
    const all = [300 << 10, 3 << 20, 900 << 10, metroValue('kiel').length];
    expect(lengths).toEqual([all, all, all]);
  });
});

describe('positions', () => {
  test('an open transaction holds its partition back, says so, and lets the others flow', async () => {
    await using kafka = new TestKafka();
    await kafka.createTopics({ partitions: 2 });
    const producer = kafka.client.producer({
      transactionalId: kafka.topicPrefix,
      maxInFlightRequests: 1,
      idempotent: true,
    });
    await producer.connect();
    const transaction = await producer.transaction();
    const messages = [{ key: 'open', value: metroValue('open'), partition: 0 }];
    await transaction.send({ topic: `${kafka.topicPrefix}metros`, messages });
    await kafka.sendMetros(['later']);
    const eventLog = kafka.eventLog();
    expect((await eventLog.bounds()).metros).toEqual([
      { low: 0, end: 2 },
      { low: 0, end: 0 },
    ]);
    const following = kafka.follow(eventLog, positionAt(2));
    await vi.waitFor(() => expect(following.waits).toEqual([['metros/0', true]]), soon);
    await kafka.sendMetros(['other'], { partition: 1 });
    await vi.waitFor(() => expect(following.metros).toEqual(['other']), soon);
    expect(kafka.log.lines.join()).toContain(`an open transaction at ${kafka.topicPrefix}metros/0@0`);
    await transaction.commit();
    await vi.waitFor(
      () =>
        expect(following.waits).toEqual([
          ['metros/0', true],
          ['metros/0', false],
        ]),
      soon,
    );
    await vi.waitFor(() => expect(following.metros).toEqual(['other', 'open', 'later']), soon);
    await producer.disconnect();
  });

  test('offsets that compaction removed are passed', async () => {
    await using kafka = new TestKafka();
    const settings = { 'segment.ms': '50', 'min.cleanable.dirty.ratio': '0.01', 'max.compaction.lag.ms': '100' };
    await kafka.createTopics({ settings });
    await kafka.sendMetros(['old', 'old', 'old', 'kept', 'old'], { timestampMs: Date.now() - 60_000 });
    const eventLog = kafka.eventLog();
    // Each append rolls a segment; the cleaner takes those before it when it comes round.
    await vi.waitFor(
      async () => {
        await kafka.sendMetros(['old'], { timestampMs: Date.now() });
        const following = kafka.follow(eventLog, positionAt(1));
        const { end } = (await eventLog.bounds()).metros[0]!;
        await vi.waitFor(() => expect(following.position.metros).toEqual([end]), soon);
        await following.stop();
        expect(following.records[0]!.offset).toBe(3);
        expect(following.metros.length).toBeLessThan(end - 3);
      },
      { timeout: 50_000, interval: 300 },
    );
  });
});

describe('faults', () => {
  // docs/rules.md#partition-growth
  test('a topic that got more partitions stops the follower, with words on new topics', async () => {
    await using kafka = new TestKafka();
    await kafka.createTopics();
    const following = kafka.follow(kafka.eventLog({ checkEveryMs: 200 }), positionAt(1));
    await kafka.sendMetros(['aa']);
    await vi.waitFor(() => expect(following.metros).toEqual(['aa']), soon);
    const topicPartitions = [{ topic: `${kafka.topicPrefix}nights`, count: 2 }];
    await (await kafka.admin()).createPartitions({ topicPartitions });
    await expect(following.done).rejects.toThrow(PartitionsChangedError);
    await expect(following.done).rejects.toThrow(/nights: it had 1 partitions and has 2.*KAFKA_TOPIC_PREFIX/);
  });

  // A broker makes a topic by itself, with its own number of partitions, if somebody asks for it (auto.create.topics.enable).
  test.each([1, 3])(
    'a topic that was deleted is waited for and named; made again, with %i partitions, it stops the follower',
    async (numPartitions) => {
      await using kafka = new TestKafka();
      await kafka.createTopics();
      const eventLog = kafka.eventLog({ checkEveryMs: 200 });
      const following = kafka.follow(eventLog, positionAt(1));
      await kafka.sendMetros(['aa']);
      await vi.waitFor(() => expect(following.metros).toEqual(['aa']), soon);
      const admin = await kafka.admin();
      const topic = `${kafka.topicPrefix}metros`;
      await admin.deleteTopics({ topics: [topic] });
      const words = `Kafka no longer has ${topic}; if that was deleted, make it with: npx ride-calendar topics`;
      const lacks = { lacks: expect.stringContaining(words), silentSinceMs: expect.any(Number) };
      await vi.waitFor(() => expect(eventLog.status!()).toMatchObject(lacks), soon);
      expect(kafka.log.lines.join('\n')).toContain(words);
      await vi.waitFor(() => admin.createTopics({ topics: [{ topic, numPartitions }] }), soon);
      await expect(following.done).rejects.toThrow(
        /metros: it was deleted and made again.*delete it and create it with: npx ride-calendar topics; then start again/,
      );
    },
  );

  test('where the topic of bad records was deleted, to make it again is all that is asked for', async () => {
    await using kafka = new TestKafka();
    await kafka.createTopics();
    const eventLog = kafka.eventLog({ checkEveryMs: 200 });
    kafka.follow(eventLog, positionAt(1));
    const admin = await kafka.admin();
    const topic = `${kafka.topicPrefix}rejected`;
    await vi.waitFor(() => expect(eventLog.status!()).toMatchObject({ lacks: null }), soon);
    await admin.deleteTopics({ topics: [topic] });
    const words = `Kafka no longer has ${topic}; if that was deleted, make it with: npx ride-calendar topics`;
    await vi.waitFor(() => expect(eventLog.status!()?.lacks).toBe(words), soon);
    await vi.waitFor(() => admin.createTopics({ topics: [{ topic, numPartitions: 1 }] }), soon);
    await vi.waitFor(() => expect(eventLog.status!()).toMatchObject({ lacks: null }), soon);
  });

  test('a partition unread for longer than half of delete.retention.ms stops it: tombstones may be gone', async () => {
    await using kafka = new TestKafka();
    await kafka.createTopics({ settings: { 'delete.retention.ms': '3000' } });
    let away = true;
    const lookUp = async () => {
      if (away) throw new SchemaRegistryAwayError('it is away');
      return { bad: 'unknown schema id' } as const;
    };
    await kafka.sendRaw('metros', [{ key: 'framed', value: Buffer.from([0, 0, 0, 0, 9, 0]) }]);
    const following = kafka.follow(kafka.eventLog({ registry: { lookUp } }), positionAt(1));
    await vi.waitFor(() => expect(following.waits).toEqual([['metros/0', true]]), soon);
    await sleep(2_500);
    await kafka.sendMetros(['next']);
    away = false;
    await expect(following.done).rejects.toThrow(LogTruncatedError);
    await expect(following.done).rejects.toThrow(/metros\/0@1: it went unread/);
  });
});
