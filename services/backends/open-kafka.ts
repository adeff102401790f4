import { kafkaEventLog } from '../../infra/kafka/log/kafka-event-log.ts';
import { kafkaPublisher } from '../../infra/kafka/publishing/kafka-publisher.ts';
import { kafkaRejectSink } from '../../infra/kafka/publishing/kafka-reject-sink.ts';
import { type SchemaRegistry, schemaRegistry } from '../../infra/registry/schema-registry.ts';
import type { EventLog } from '../../projector/ports/event-log.ts';
import type { LogPublisher } from '../../projector/ports/log-publisher.ts';
import type { Log } from '../../projector/running/log.ts';
import { Stop } from '../../projector/running/stop.ts';
import { WriterSchemas } from '../../schemas/avro/writer-schemas.ts';
import type { KafkaSettings, Settings } from '../settings/settings.ts';
import type { OpenLog } from './open-log.ts';

/**
 * Opens the event log in Kafka to read it: no positions are committed. Once the signal aborts, nothing is waited for.
 * `writers` collects the schemas that are used.
 */
export function openKafkaLog(
  kafka: KafkaSettings,
  log: Log,
  signal: AbortSignal,
  writers = new WriterSchemas(),
): EventLog {
  const { topicPrefix, schemaRegistryUrl: url } = kafka;
  const registry = url === null ? null : schemaRegistry({ url });
  return kafkaEventLog({ kafka, topicPrefix, writers, registry, log, group: null, signal });
}

/** How long records in flight to Kafka may still take after the signal. */
const inHandMs = 1_000;

export function openKafkaPublisher(kafka: KafkaSettings, log: Log, signal: AbortSignal): LogPublisher {
  const { topicPrefix } = kafka;
  return kafkaPublisher({ kafka, topicPrefix, log, signal: new Stop([signal], { finishMs: inHandMs }).ended });
}

/** Opens the event log for a projector. Its positions are committed to KAFKA_GROUP, for Kafka's own lag tools. */
export async function openProjectedKafka(
  kafka: KafkaSettings,
  settings: Settings,
  log: Log,
  onAnswer: (request: string, seconds: number) => void,
): Promise<OpenLog> {
  const { topicPrefix, group, schemaRegistryUrl: url } = kafka;
  const { registry, close } = url ? await openRegistry(schemaRegistry({ url }), url, settings, log) : noRegistry;
  const writers = new WriterSchemas();
  const eventLog = kafkaEventLog({ kafka, topicPrefix, group, writers, registry, log, onAnswer });
  return {
    eventLog: { ...eventLog, close: () => Promise.all([eventLog.close(), close()]).then(() => {}) },
    rejects: kafkaRejectSink({ kafka, topicPrefix, log }),
    partitioners: settings.partitioners,
    where: `Kafka at ${kafka.brokers.join(', ')}`,
    madeUp: null,
  };
}

const keepAgainEveryMs = 10_000;

const noRegistry = { registry: null, close: async () => {} };

/** A registry whose schemas are stored beside the views. With views in memory they are not stored. */
async function openRegistry(registry: SchemaRegistry, url: string, { redis }: Settings, log: Log) {
  if (!redis) return { registry, close: async () => {} };
  const [{ keptSchemas }, { redisSchemaTexts }] = await Promise.all([
    import('../../infra/registry/kept-schemas.ts'),
    import('../../infra/redis/views/redis-schema-texts.ts'),
  ]);
  const texts = await redisSchemaTexts(redis);
  const kept = keptSchemas({ registry, url }, texts, log);
  // The view writer logs that the store is away.
  const again = setInterval(() => void kept.keepAgain().catch(() => undefined), keepAgainEveryMs);
  const close = async (): Promise<void> => {
    clearInterval(again);
    await texts.close();
  };
  return { registry: kept, close };
}
