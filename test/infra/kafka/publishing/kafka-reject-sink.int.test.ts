import { describe, expect, test } from 'vitest';
import { KafkaCluster } from '../../../../infra/kafka/client/kafka-cluster.ts';
import { RejectedTopic } from '../../../../infra/kafka/log/rejected-topic.ts';
import { kafkaRejectSink } from '../../../../infra/kafka/publishing/kafka-reject-sink.ts';
import { ensureTopics } from '../../../../infra/kafka/topics/ensure-topics.ts';
import type { Reject } from '../../../../projector/ports/event-log.ts';
import { TestKafka } from '../../../support/servers/kafka.ts';
import { rejectAt as reject } from '../../../support/worlds/records.ts';

function sinkOf(kafka: TestKafka) {
  const sink = kafkaRejectSink(kafka.options);
  return { publish: (rejects: Reject[]) => sink.publish(rejects), [Symbol.asyncDispose]: () => sink.close() };
}

async function readAll(kafka: TestKafka): Promise<Reject[]> {
  const cluster = new KafkaCluster(kafka.connection);
  const rejects: Reject[] = [];
  const topic = new RejectedTopic(cluster, kafka.topicPrefix, kafka);
  await topic.readOn((some) => rejects.push(...some), new AbortController().signal);
  await cluster.close();
  return rejects;
}

// docs/rules.md#rejected
describe('rejected', () => {
  test('holds a bad record as it came, with where it stood and why, also one larger than other topics take', async () => {
    await using kafka = new TestKafka();
    await ensureTopics(kafka.options);
    await using sink = sinkOf(kafka);
    const value = Buffer.alloc(1_300_000, 'incompressible?').map((byte, i) => byte ^ (Math.imul(i, 0x9e3779b1) >>> 13));
    const bad = [
      reject(1, { raw: { key: Buffer.from('k'), value: Buffer.from(value), headers: {} } }),
      reject(2, { raw: { key: null, value: null, headers: {} } }),
      reject(3, { topic: 'rides', partition: 0, reason: 'no key' }),
    ];
    // As one that came from `rejected`: its own headers say where it stands now.
    const posing = {
      'ride-calendar.topic': Buffer.from('rides'),
      'ride-calendar.offset': Buffer.from('7'),
      'ride-calendar.reason': Buffer.from('none'),
    };
    await sink.publish([...bad, reject(4, { raw: { key: null, value: null, headers: posing } })]);
    expect(await readAll(kafka)).toEqual([...bad, reject(4, { raw: { key: null, value: null, headers: {} } })]);
  });

  // docs/rules.md#rejected-once
  test('holds a bad record once, though it is published again, by another process, twice at a time, or after the topic was made anew', async () => {
    await using kafka = new TestKafka();
    await ensureTopics(kafka.options);
    await using one = sinkOf(kafka);
    await using other = sinkOf(kafka);
    await one.publish([reject(1), reject(1)]);
    await other.publish([reject(1), reject(2)]);
    await Promise.all([one.publish([reject(2), reject(3)]), one.publish([reject(3), reject(0)])]);
    // At a place where another one stood, of topics that have been made anew.
    await other.publish([reject(1, { timestampMs: 99 })]);
    expect((await readAll(kafka)).map(({ offset }) => offset)).toEqual([1, 2, 3, 0, 1]);
    await kafka.makeAnew('rejected');
    await other.publish([reject(4), reject(5)]);
    await one.publish([reject(1), reject(4), reject(5)]);
    expect((await readAll(kafka)).map(({ offset }) => offset)).toEqual([4, 5, 1]);
  });
});
