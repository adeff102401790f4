import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { SchemaAwayError } from '../../../../infra/registry/schema-registry.ts';
import { LogTruncatedError } from '../../../../projector/ports/event-log.ts';
import { encodeValue } from '../../../../schemas/avro/codec.ts';
import type { TopicName } from '../../../../schemas/events/records.ts';
import { type EventLogFixture, eventLogContract } from '../../../contracts/event-log.ts';
import { metroValue, positionAt, TestKafka, topicBounds } from '../../../support/servers/kafka.ts';

/** Kafka for the contract suite of event logs. */
function kafkaFixture(): EventLogFixture {
  const kafka = new TestKafka();
  const named = (topic: TopicName) => kafka.topicPrefix + topic;
  const endOf = async (topic: TopicName, partition: number): Promise<number> => {
    const offsets = await topicBounds(await kafka.admin(), named(topic));
    return Number(offsets.find((one) => one.partition === partition)!.high);
  };
  return {
    createTopics: (partitions) =>
      // `delete`, for deleteBefore alone: nothing is old enough.
      kafka.createTopics({ partitions, settings: { 'cleanup.policy': 'compact,delete', 'retention.ms': '-1' } }),
    append: (topic, partition, records) => {
      const messages = records.map(({ value, ...record }) => ({
        ...record,
        value: value && encodeValue(topic, value),
      }));
      return kafka.sendRaw(topic, messages, { partition });
    },
    appendUndecodable: (topic, partition, key) =>
      kafka.sendRaw(topic, [{ key, value: Buffer.from('no Avro') }], { partition }),
    /** An aborted transaction: its records and one control record. */
    skipOffsets: async (topic, partition, count) => {
      const before = await endOf(topic, partition);
      const transaction = await kafka.transaction();
      const messages = Array.from({ length: count - 1 }, () => ({ key: 'aborted', value: 'aborted', partition }));
      await transaction.send({ topic: named(topic), messages });
      await transaction.abort();
      // The control record is written some time after the answer.
      await expect.poll(() => endOf(topic, partition)).toBe(before + count);
    },
    /** It had one. */
    addPartition: async (topic) => {
      await (await kafka.admin()).createPartitions({ topicPartitions: [{ topic: named(topic), count: 2 }] });
    },
    deleteBefore: (topic, partition, offset) => kafka.deleteRecords(topic, offset, partition),
    open: () => kafka.eventLog({ checkEveryMs: 200 }),
    close: () => kafka[Symbol.asyncDispose](),
  };
}

eventLogContract('Kafka', async () => kafkaFixture());

test('an open transaction holds its partition back, says so, and lets the others flow', async () => {
  await using kafka = new TestKafka();
  await kafka.createTopics({ partitions: 2 });
  const transaction = await kafka.transaction();
  const messages = [{ key: 'open', value: metroValue('open'), partition: 0 }];
  await transaction.send({ topic: `${kafka.topicPrefix}metros`, messages });
  await kafka.sendMetros(['later']);
  const eventLog = kafka.eventLog();
  expect((await eventLog.bounds()).metros).toEqual([2, 0].map((end) => ({ low: 0, end })));
  const following = kafka.follow(eventLog, positionAt(2));
  await expect.poll(() => following.waits).toEqual([['metros/0', true]]);
  await kafka.sendMetros(['other'], { partition: 1 });
  await expect.poll(() => following.keys).toEqual(['other']);
  expect(kafka.log.lines.join()).toContain(`an open transaction at ${kafka.topicPrefix}metros/0@0`);
  await transaction.commit();
  await expect.poll(() => following.waits.slice(1)).toEqual([['metros/0', false]]);
  await expect.poll(() => following.keys).toEqual(['other', 'open', 'later']);
});

test('a topic that was deleted is waited for and named; made again, it stops the follower, but for that of bad records', async () => {
  await using kafka = new TestKafka();
  await kafka.createTopics();
  const eventLog = kafka.eventLog({ checkEveryMs: 200 });
  const following = kafka.follow(eventLog, positionAt(1));
  await kafka.sendMetros(['aa']);
  await expect.poll(() => following.keys).toEqual(['aa']);
  const admin = await kafka.admin();
  /** Resolves once it is known to be gone, and is there again. */
  const remake = async (topic: string, more: string) => {
    await admin.deleteTopics({ topics: [topic] });
    const lacks = `Kafka no longer has ${topic}; if that was deleted, make it with: npx ride-calendar topics${more}`;
    const status = { lacks, silentSinceMs: expect.any(Number) };
    await expect.poll(() => eventLog.status!()).toMatchObject(status);
    expect(kafka.log.lines.join('\n')).toContain(lacks);
    await vi.waitFor(() => admin.createTopics({ topics: [{ topic, numPartitions: 1 }] }), { timeout: 60_000 });
  };
  await remake(`${kafka.topicPrefix}rejected`, '');
  await expect.poll(() => eventLog.status!()).toMatchObject({ lacks: null });
  const foldAgain = ', publish its entities there again, and start again, to read the new one from its start';
  await remake(`${kafka.topicPrefix}metros`, foldAgain);
  await expect(following.done).rejects.toThrow(
    /metros: it was deleted and made again.*delete it and create it with: npx ride-calendar topics; then start again/,
  );
});

test('a partition unread for longer than half of delete.retention.ms stops it: tombstones may be gone', async () => {
  await using kafka = new TestKafka();
  await kafka.createTopics();
  // Of one topic: the least counts.
  await kafka.alterTopic('metros', { 'cleanup.policy': 'compact', 'delete.retention.ms': '3000' });
  let away = true;
  const lookUp = async () => {
    if (away) throw new SchemaAwayError('it is away');
    return 'unknown' as const;
  };
  await kafka.sendRaw('metros', [{ key: 'framed', value: Buffer.from([0, 0, 0, 0, 9, 0]) }]);
  const following = kafka.follow(kafka.eventLog({ schemas: { lookUp } }), positionAt(1));
  await expect.poll(() => following.waits).toEqual([['metros/0', true]]);
  await sleep(2_500);
  await kafka.sendMetros(['next']);
  away = false;
  await expect(following.done).rejects.toThrow(LogTruncatedError);
  await expect(following.done).rejects.toThrow(/metros\/0@1: it went unread/);
});
