import type { Position } from '../../projector/ports/event-log.ts';
import { type TopicName, topicNames } from '../../schemas/events/records.ts';
import type { KafkaConnection } from './kafka-client.ts';
import { KafkaCluster } from './kafka-cluster.ts';
import { KafkaLogTopics } from './kafka-log-topics.ts';
import { type KafkaLog, retry } from './kafka-retry.ts';

export interface PartitionEnd {
  topic: TopicName;
  partition: number;
  low: number;
  end: number;
}

export interface LogEnds {
  /** Which log it is, as the event log's `identity`. */
  identity: string;
  partitions: PartitionEnd[];
  /** The time of the oldest record that stands at or after a position, in ms since the epoch; null: there is none. */
  oldestAfter(position: Position): Promise<number | null>;
  close(): Promise<void>;
}

/** Where the log ends now. Reads no more than the first records after a position, and commits nothing. */
export async function kafkaLogEnds(options: {
  kafka: KafkaConnection;
  topicPrefix: string;
  log: KafkaLog;
  signal: AbortSignal;
}): Promise<LogEnds> {
  const { kafka, topicPrefix, log, signal } = options;
  const cluster = new KafkaCluster(kafka);
  const logTopics = new KafkaLogTopics(cluster, topicPrefix);
  const asking = { log, signal, isFatal: (error: unknown) => (error as Error).name === 'MissingTopicsError' };
  try {
    const bounds = await retry('Cannot read the bounds of the event log', () => logTopics.bounds(), asking);
    const topics = await retry('Cannot look up the topics', () => logTopics.find(), asking);
    const identity = await retry('Cannot look up the topics', () => logTopics.identity(), asking);
    const partitions = topicNames.flatMap((topic) =>
      bounds[topic].map(({ low, end }, partition) => ({ topic, partition, low, end })),
    );
    const timeOfFirst = async ({ topic, partition, low, end }: PartitionEnd, position: Position) => {
      const offset = Math.max(low, position[topic][partition] ?? 0);
      if (offset >= end) return null;
      const { id: topicId, partitions } = topics.find(({ name }) => name === topicPrefix + topic)!;
      const { node, epoch } = partitions[partition]!;
      const [found] = await cluster.fetch(node, [{ topicId, partition, offset, leaderEpoch: epoch, lastEpoch: -1 }], 0);
      return found?.records[0]?.timestampMs ?? null;
    };
    return {
      identity,
      partitions,
      async oldestAfter(position) {
        let oldest: number | null = null;
        for (const one of partitions) {
          const what = `Cannot read ${one.topic}/${one.partition}`;
          const timeMs = await retry(what, () => timeOfFirst(one, position), asking);
          if (timeMs !== null) oldest = Math.min(oldest ?? timeMs, timeMs);
        }
        return oldest;
      },
      close: () => cluster.close(),
    };
  } catch (error) {
    await cluster.close();
    throw error;
  }
}
