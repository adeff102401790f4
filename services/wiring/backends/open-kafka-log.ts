import { kafkaEventLog } from '../../../infra/kafka/kafka-event-log.ts';
import type { KafkaLog } from '../../../infra/kafka/kafka-retry.ts';
import { schemaRegistry } from '../../../infra/registry/schema-registry.ts';
import type { EventLog } from '../../../projector/ports/event-log.ts';
import { WriterSchemas } from '../../../schemas/avro/writer-schemas.ts';
import type { KafkaSettings } from '../../settings/settings.ts';

/**
 * Opens the event log in Kafka. `group`: where positions are committed for Kafka's own lag tools; null: nowhere. Once
 * the signal aborts, nothing is waited for. `writers` collects the schemas that are used.
 */
export function openKafkaLog(
  kafka: KafkaSettings,
  log: KafkaLog,
  group: string | null,
  signal: AbortSignal,
  writers = new WriterSchemas(),
): EventLog {
  const { topicPrefix, schemaRegistryUrl } = kafka;
  const registry = schemaRegistryUrl === null ? null : schemaRegistry({ url: schemaRegistryUrl });
  return kafkaEventLog({ kafka, topicPrefix, writers, registry, log, group, signal });
}
