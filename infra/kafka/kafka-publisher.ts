import type { IHeaders } from 'kafkajs';
import type { RecordHeader } from '../../projector/ports/event-log.ts';
import type { Log } from '../../projector/ports/log.ts';
import type { LogPublisher } from '../../projector/ports/log-publisher.ts';
import type { KafkaConnection } from './kafka-client.ts';
import { KafkaProducer } from './kafka-producer.ts';
import { kafkaRejectSink } from './kafka-reject-sink.ts';

/**
 * Publishes to the topics in Kafka, which must exist. Pass some thousand records at a time. When the signal aborts,
 * publishing rejects with its reason at once.
 */
export function kafkaPublisher(options: {
  kafka: KafkaConnection;
  topicPrefix: string;
  log: Log;
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
    rejects,
    close: async () => {
      await Promise.all([producer.close(), rejects.close()]);
    },
  };
}

/**
 * Headers as kafkajs takes them. It wants an object, which would move headers with numeric names to the front and group
 * headers of one name, and it cannot measure a null value. So all headers are given under one name, as a list whose
 * `map` returns them unchanged: kafkajs calls `map` to encode each value. The items of the list itself are there only
 * to be measured.
 */
function kafkaHeaders(headers: readonly RecordHeader[]): IHeaders {
  const sized = headers.flatMap(({ key, value }) => [key, value ?? '']);
  return { headers: Object.assign(sized, { map: () => headers.map(encodable) }) };
}

/** kafkajs takes a value's length before it checks for null. So the first read returns an empty value. */
function encodable({ key, value }: RecordHeader): object {
  if (value !== null) return { key, value };
  let asked = false;
  return {
    key,
    get value() {
      if (asked) return null;
      asked = true;
      return '';
    },
  };
}
