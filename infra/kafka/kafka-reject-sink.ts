import type { Reject, RejectSink } from '../../projector/ports/event-log.ts';
import { RejectPlaces } from '../reject-places.ts';
import type { KafkaConnection } from './kafka-client.ts';
import { KafkaCluster } from './kafka-cluster.ts';
import { KafkaProducer } from './kafka-producer.ts';
import { headersOf, RejectedTopic } from './kafka-rejected-topic.ts';
import type { KafkaLog } from './kafka-retry.ts';

/**
 * Sets bad records aside in `<prefix>rejected` (docs/rules.md#rejected), with the headers of `rejectedHeaders`,
 * acknowledged by all replicas. Reads what the topic holds first, and again before each publish, so that a restart or a
 * takeover publishes nothing twice. Keeps 16 bytes per record in memory.
 */
export function kafkaRejectSink(options: {
  kafka: KafkaConnection;
  topicPrefix: string;
  log: KafkaLog;
  /** Aborts publishing, as `close` does. */
  signal?: AbortSignal;
}): RejectSink {
  const { kafka, topicPrefix, log } = options;
  const cluster = new KafkaCluster(kafka);
  const rejected = new RejectedTopic(cluster, topicPrefix, log);
  const published = new RejectPlaces();
  const closed = new AbortController();
  const signal = options.signal ? AbortSignal.any([options.signal, closed.signal]) : closed.signal;
  let producer: KafkaProducer | null = null;
  let queue: Promise<unknown> = Promise.resolve();

  const publishNow = async (rejects: readonly Reject[]) => {
    await rejected.readOn((reject) => published.add(reject), signal);
    const fresh = published.unknown(rejects);
    if (fresh.length === 0) return 0;
    producer ??= new KafkaProducer(kafka, log, signal);
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
      closed.abort();
      await queue;
      await Promise.all([producer?.close(), cluster.close()]);
    },
  };
}
