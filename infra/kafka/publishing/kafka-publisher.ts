import type { IHeaders } from 'kafkajs';
import type { RecordHeader } from '../../../projector/ports/event-log.ts';
import type { LogPublisher } from '../../../projector/ports/log-publisher.ts';
import type { Log } from '../../../projector/running/log.ts';
import type { KafkaConnection } from '../client/kafka-connection.ts';
import { DurableProducer } from './durable-producer.ts';
import { kafkaRejectSink } from './kafka-reject-sink.ts';

/** Publishes to topics that exist, some thousand records at a time. Rejects with the signal's reason once it aborts. */
export function kafkaPublisher(options: {
  kafka: KafkaConnection;
  topicPrefix: string;
  log: Log;
  signal?: AbortSignal;
}): LogPublisher {
  const { kafka, topicPrefix, log, signal } = options;
  const producer = new DurableProducer(kafka, log, signal);
  const rejects = kafkaRejectSink(options);
  return {
    publish: (topic, records) =>
      producer.send(
        topicPrefix + topic,
        records.map(({ timestampMs, headers, ...record }) => ({
          ...record,
          timestamp: String(timestampMs),
          ...(headers?.length && { headers: kafkaHeaders(headers) }),
        })),
      ),
    rejects,
    close: async () => {
      await Promise.all([producer.close(), rejects.close()]);
    },
  };
}

/** Headers as kafkajs takes them: those of one name stand together, and a header without a value gets an empty one. */
function kafkaHeaders(headers: readonly RecordHeader[]): IHeaders {
  const byName = Map.groupBy(headers, ({ key }) => key);
  return Object.fromEntries([...byName].map(([key, all]) => [key, all.map(({ value }) => value ?? '')]));
}
