import type { Reject, RejectSink } from '../../../projector/ports/event-log.ts';
import type { Log } from '../../../projector/running/log.ts';
import { Stop } from '../../../projector/running/stop.ts';
import { RejectPlaces } from '../../reject-places.ts';
import { KafkaCluster } from '../client/kafka-cluster.ts';
import type { KafkaConnection } from '../client/kafka-connection.ts';
import { headersOf, RejectedTopic } from '../log/rejected-topic.ts';
import { DurableProducer } from './durable-producer.ts';

/**
 * Sets bad records aside in `<prefix>rejected` (docs/rules.md#rejected, #rejected-once), acknowledged by all replicas. Before
 * each publish it reads what was added to the topic, so that a restart or a take-over publishes nothing twice.
 */
export function kafkaRejectSink(options: {
  kafka: KafkaConnection;
  topicPrefix: string;
  log: Log;
  /** Aborts publishing, as `close` does. */
  signal?: AbortSignal;
}): RejectSink {
  const { kafka, topicPrefix, log } = options;
  const cluster = new KafkaCluster(kafka);
  const rejected = new RejectedTopic(cluster, topicPrefix, log);
  const published = new RejectPlaces();
  const closed = new Stop([options.signal]);
  const { signal } = closed;
  let producer: DurableProducer | null = null;
  let queue: Promise<unknown> = Promise.resolve();

  const publishNow = async (rejects: readonly Reject[]) => {
    await rejected.readOn((rejects) => {
      for (const reject of rejects) published.add(reject);
    }, signal);
    const fresh = published.unknown(rejects);
    if (fresh.length === 0) return 0;
    producer ??= new DurableProducer(kafka, log, signal);
    await producer.send(
      rejected.name,
      fresh.map((reject) => ({ key: reject.raw.key, value: reject.raw.value, headers: headersOf(reject) })),
    );
    return fresh.length;
  };
  return {
    publish: (rejects) => {
      const mine = queue.then(() => publishNow(rejects));
      queue = mine.catch(() => undefined);
      return mine;
    },
    close: async () => {
      closed.end();
      await queue;
      await Promise.all([producer?.close(), cluster.close()]);
    },
  };
}
