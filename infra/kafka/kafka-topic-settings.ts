import kafkajs, { type Admin } from 'kafkajs';
import type { Log } from '../../projector/ports/log.ts';
import { untilAborted } from '../../projector/ports/waiting.ts';
import type { KafkaConnection } from './kafka-client.ts';
import { kafkaJs } from './kafka-js.ts';
import { namingRight, refusalOf } from './kafka-refusal.ts';
import { describeError } from './kafka-retry.ts';

const kafkaDefaultMs = 86_400_000;

/** Every topic's effective settings, including defaults, by name. The topics must exist. */
export async function topicSettings(
  admin: Admin,
  topics: readonly string[],
): Promise<Map<string, Map<string, string>>> {
  if (topics.length === 0) return new Map();
  const resources = topics.map((name) => ({ type: kafkajs.ConfigResourceTypes.TOPIC, name }));
  const described = await admin.describeConfigs({ resources, includeSynonyms: false }).catch((error: unknown) => {
    throw namingRight(error, `DescribeConfigs on topic ${topics.join(', ')}`);
  });
  return new Map(
    described.resources.map(({ resourceName, configEntries }) => [
      resourceName,
      new Map(configEntries.map(({ configName, configValue }) => [configName, configValue ?? ''])),
    ]),
  );
}

interface Asking {
  log: Log;
  signal: AbortSignal;
}

/** delete.retention.ms of every topic. If we may not read it: Kafka's default, a day. */
export function deleteRetentionMs(
  kafka: KafkaConnection,
  topics: readonly string[],
  asking: Asking,
): Promise<Map<string, number>> {
  return settingMs(kafka, topics, 'delete.retention.ms', { ms: kafkaDefaultMs, text: 'a day' }, asking);
}

/**
 * How long Kafka keeps superseded records at least, in all of the topics. If we may not read it: 0, Kafka's default.
 */
export async function minCompactionLagMs(
  kafka: KafkaConnection,
  topics: readonly string[],
  asking: Asking,
): Promise<number> {
  const all = await settingMs(kafka, topics, 'min.compaction.lag.ms', { ms: 0, text: '0' }, asking);
  return Math.min(...all.values());
}

async function settingMs(
  kafka: KafkaConnection,
  topics: readonly string[],
  setting: string,
  kafkaDefault: { ms: number; text: string },
  { log, signal }: Asking,
): Promise<Map<string, number>> {
  const done = new AbortController();
  const admin = kafkaJs(kafka, log, AbortSignal.any([signal, done.signal])).admin();
  try {
    await untilAborted(admin.connect(), signal);
    const settings = await untilAborted(topicSettings(admin, topics), signal);
    return new Map(topics.map((topic) => [topic, Number(settings.get(topic)?.get(setting) ?? kafkaDefault.ms)]));
  } catch (error) {
    signal.throwIfAborted();
    log.warn(
      `Cannot read ${setting} of the topics, taking Kafka's default of ${kafkaDefault.text}: ${refusalOf(error, 'Kafka') ?? describeError(error)}`,
    );
    return new Map(topics.map((topic) => [topic, kafkaDefault.ms]));
  } finally {
    done.abort();
  }
}
