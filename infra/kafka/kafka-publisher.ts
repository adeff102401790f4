import type { LogPublisher } from '../../projector/ports/log-publisher.ts';
import type { KafkaConnection } from './kafka-client.ts';
import { kafkaHeaders } from './kafka-headers.ts';
import { KafkaProducer } from './kafka-producer.ts';
import { kafkaRejectSink } from './kafka-reject-sink.ts';
import type { KafkaLog } from './kafka-retry.ts';

/**
 * Publishes to the topics in Kafka, which must exist. Pass some thousand records at a time. When the signal aborts,
 * publishing rejects with its reason at once.
 */
export function kafkaPublisher(options: {
  kafka: KafkaConnection;
  topicPrefix: string;
  log: KafkaLog;
  signal?: AbortSignal;
}): LogPublisher {
  const { kafka, topicPrefix, log, signal } = options;
  const producer = new KafkaProducer(kafka, log, signal);
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
    publishRejected: (list) => rejects.publish([...list]),
    close: async () => {
      await Promise.all([producer.close(), rejects.close()]);
    },
  };
}
