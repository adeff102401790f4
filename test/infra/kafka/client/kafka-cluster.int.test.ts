import { expect, test, vi } from 'vitest';
import { KafkaCluster } from '../../../../infra/kafka/client/kafka-cluster.ts';
import { TestKafka } from '../../../support/servers/kafka.ts';

test('what is asked while a fetch waits for records is answered before that', async () => {
  await using kafka = new TestKafka();
  await kafka.createTopics();
  const topic = `${kafka.topicPrefix}metros`;
  const cluster = new KafkaCluster(kafka.connection);
  try {
    const topics = await cluster.topics([topic]);
    const [{ id, partitions }] = topics as [(typeof topics)[0]];
    const [{ node, epoch }] = partitions as [(typeof partitions)[0]];
    // A broker that has just made a topic may not know yet that it leads it.
    await vi.waitFor(() => cluster.bounds(topics), { timeout: 20_000, interval: 50 });
    const answered: string[] = [];
    const from = { topicId: id, partition: 0, offset: 0, leaderEpoch: epoch, lastEpoch: -1 };
    const fetched = cluster.fetch(node, [from], 2_000).then(() => answered.push('fetch'));
    await cluster.bounds(topics).then(() => answered.push('bounds'));
    await cluster.topics([topic]).then(() => answered.push('topics'));
    await fetched;
    expect(answered).toEqual(['bounds', 'topics', 'fetch']);
  } finally {
    await cluster.close();
  }
});
