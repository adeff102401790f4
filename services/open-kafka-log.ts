import { kafkaEventLog } from '../infra/kafka-event-log.ts';
import type { KafkaLog } from '../infra/kafka-retry.ts';
import { schemaRegistry } from '../infra/schema-registry.ts';
import type { EventLog } from '../projector/event-log.ts';
import { WriterSchemas } from '../schemas/writer-schemas.ts';
import type { KafkaSettings } from './settings.ts';

/** The event log in Kafka as the settings say. `group`: where positions are committed for Kafka's own lag tools; null: nowhere. */
export function openKafkaLog(kafka: KafkaSettings, log: KafkaLog, group: string | null): EventLog {
  const { topicPrefix, schemaRegistryUrl } = kafka;
  const registry = schemaRegistryUrl === null ? null : schemaRegistry({ url: schemaRegistryUrl });
  return kafkaEventLog({ kafka, topicPrefix, writers: new WriterSchemas(), registry, log, group });
}
