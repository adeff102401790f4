import kafkajs, { type Admin } from 'kafkajs';
import { abortable } from '../abortable.ts';
import type { KafkaConnection } from './kafka-client.ts';
import { kafkaJs } from './kafka-js.ts';
import { describe, type KafkaLog } from './kafka-retry.ts';

const kafkaDefaultMs = 86_400_000;

/** Every topic's settings as Kafka applies them, defaults included, by setting name. The topics must exist. */
export async function topicSettings(
  admin: Admin,
  topics: readonly string[],
): Promise<Map<string, Map<string, string>>> {
  if (topics.length === 0) return new Map();
  const resources = topics.map((name) => ({ type: kafkajs.ConfigResourceTypes.TOPIC, name }));
  const described = await admin.describeConfigs({ resources, includeSynonyms: false });
  return new Map(
    described.resources.map(({ resourceName, configEntries }) => [
      resourceName,
      new Map(configEntries.map(({ configName, configValue }) => [configName, configValue ?? ''])),
    ]),
  );
}

/** delete.retention.ms of every topic; Kafka's default, a day, where we may not see it. */
export async function deleteRetentionMs(
  kafka: KafkaConnection,
  topics: readonly string[],
  { log, signal }: { log: KafkaLog; signal: AbortSignal },
): Promise<Map<string, number>> {
  const done = new AbortController();
  const admin = kafkaJs(kafka, log, AbortSignal.any([signal, done.signal])).admin();
  try {
    await abortable(admin.connect(), signal);
    const settings = await abortable(topicSettings(admin, topics), signal);
    return new Map(
      topics.map((topic) => [topic, Number(settings.get(topic)?.get('delete.retention.ms') ?? kafkaDefaultMs)]),
    );
  } catch (error) {
    signal.throwIfAborted();
    log.warn(`Cannot read delete.retention.ms of the topics, taking Kafka's default of a day: ${describe(error)}`);
    return new Map(topics.map((topic) => [topic, kafkaDefaultMs]));
  } finally {
    done.abort();
  }
}
