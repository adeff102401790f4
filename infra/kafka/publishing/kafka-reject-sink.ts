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
  const rejected = new RejectedTopic(cluster, topicPrefix, { log });
  const closed = new Stop([options.signal]);
  const { signal } = closed;
  let published = new RejectPlaces();
  /** Whether something was lost since `holdsAll` was asked last. */
  let lost: boolean | null = null;
  let producer: DurableProducer | null = null;
  let queue: Promise<unknown> = Promise.resolve();

  /** The next one begins with a number of its own: the broker may have forgotten, or never have had, what this one sent. */
  const leaveProducer = async () => {
    const left = producer;
    producer = null;
    await left?.close();
  };
  const look = () =>
    rejected.readOn(
      (rejects) => {
        for (const reject of rejects) published.add(reject);
      },
      signal,
      async () => {
        published = new RejectPlaces();
        // The first time nothing was published through this one yet.
        lost = lost !== null;
        await leaveProducer();
      },
    );
  const publishNow = async (rejects: readonly Reject[]) => {
    await look();
    const fresh = published.unknown(rejects);
    if (fresh.length === 0) return 0;
    producer ??= new DurableProducer(kafka, log, signal);
    const messages = fresh.map((reject) => ({
      key: reject.raw.key,
      value: reject.raw.value,
      headers: headersOf(reject),
    }));
    await producer.send(rejected.name, messages).catch(async (cause: unknown) => {
      await leaveProducer();
      throw cause;
    });
    return fresh.length;
  };
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const mine = queue.then(work);
    queue = mine.catch(() => undefined);
    return mine;
  };
  return {
    publish: (rejects) => inTurn(() => publishNow(rejects)),
    holdsAll: () =>
      inTurn(async () => {
        await look();
        const held = !lost;
        lost = false;
        return held;
      }),
    close: async () => {
      closed.end();
      await queue;
      await Promise.all([producer?.close(), cluster.close()]);
    },
  };
}
