import { fetchV13 } from '@platformatic/kafka';
import { KafkaCluster, type KafkaTopic } from '../../infra/kafka/client/kafka-cluster.ts';
import { brokerAddress, connectionPool } from '../../infra/kafka/client/kafka-connection.ts';
import { topicNames } from '../../schemas/events/records.ts';

/** The baseline of a start: fetches all records as the client library parses them, and says what CPU time that took. */
const [brokers] = process.argv.slice(2) as [string];
const kafka = { brokers: [brokers], ssl: false, sasl: null };

const requests = (topics: readonly KafkaTopic[], asked: readonly { id: string; partition: number; at: number }[]) =>
  topics.map(({ id }) => ({
    topicId: id,
    partitions: asked
      .filter((one) => one.id === id)
      .map(({ partition, at }) => ({
        partition,
        currentLeaderEpoch: -1,
        fetchOffset: BigInt(at),
        lastFetchedEpoch: -1,
        partitionMaxBytes: 1 << 20,
      })),
  }));

process.once('message', async () => {
  const before = process.cpuUsage();
  const cluster = new KafkaCluster(kafka);
  const topics = await cluster.topics(topicNames.map((name) => `ride-calendar.${name}`));
  const bounds = await cluster.bounds(topics);
  const pool = connectionPool(kafka);
  const connection = await pool.get(brokerAddress(brokers));
  const left = topics.flatMap(({ id, name }) =>
    bounds.get(name)!.map(({ low, end }, partition) => ({ id, partition, at: low, end })),
  );
  for (;;) {
    const asked = left.filter(({ at, end }) => at < end);
    if (asked.length === 0) break;
    const response = await fetchV13.api.async(connection, 500, 1, 10 << 20, 1, 0, -1, requests(topics, asked), [], '');
    for (const { topicId, partitions } of response.responses) {
      for (const { partitionIndex, records: batches } of partitions) {
        const one = left.find(({ id, partition }) => id === topicId && partition === partitionIndex)!;
        for (const batch of batches ?? []) {
          one.at = Number(batch.firstOffset) + batch.lastOffsetDelta + 1;
        }
        // Kafka fills a response in the order of the request.
        if (batches?.length) left.push(...left.splice(left.indexOf(one), 1));
      }
    }
  }
  const { user, system } = process.cpuUsage(before);
  process.send!({ cpuSeconds: (user + system) / 1e6 });
  await Promise.all([pool.close(), cluster.close()]);
  process.disconnect();
});
