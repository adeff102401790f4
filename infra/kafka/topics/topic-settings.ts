import kafkajs, { type Admin } from 'kafkajs';
import type { Log } from '../../../projector/running/log.ts';
import { race, Stop } from '../../../projector/running/stop.ts';
import type { KafkaConnection } from '../client/kafka-connection.ts';
import { kafkaJs } from '../client/kafka-js.ts';
import { describeError } from '../client/logged-back-off.ts';
import { namingRight, refusalOf } from '../protocol/broker-refusal.ts';

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

/** Kafka's defaults. */
const kafkaDefaultsMs = { 'delete.retention.ms': 86_400_000, 'min.compaction.lag.ms': 0 };

/** Every topic's settings, by a connection of its own. Throws if they may not be read, and the signal's reason. */
async function readSettings(
  kafka: KafkaConnection,
  topics: readonly string[],
  { log, signal }: { log: Log; signal: AbortSignal },
): Promise<Map<string, Map<string, string>>> {
  const done = new Stop([signal]);
  try {
    const admin = kafkaJs(kafka, log, done.signal).admin();
    await race(signal, admin.connect());
    return await race(signal, topicSettings(admin, topics));
  } finally {
    done.end();
  }
}

/** Each topic's cleanup.policy; null if it may not be read. */
export async function cleanupPolicies(
  kafka: KafkaConnection,
  topics: readonly string[],
  asking: { log: Log; signal: AbortSignal },
): Promise<Map<string, string> | null> {
  const settings = await readSettings(kafka, topics, asking).catch((error: unknown) => {
    asking.signal.throwIfAborted();
    if (refusalOf(error, 'Kafka')) return null;
    throw error;
  });
  return settings && new Map([...settings].map(([topic, values]) => [topic, values.get('cleanup.policy') ?? '']));
}

/** The lowest value of a setting among the topics, in milliseconds. If we may not read it: Kafka's default. */
export async function leastSettingMs(
  setting: keyof typeof kafkaDefaultsMs,
  kafka: KafkaConnection,
  topics: readonly string[],
  { log, signal }: { log: Log; signal: AbortSignal },
): Promise<number> {
  const defaultMs = kafkaDefaultsMs[setting];
  try {
    const settings = await readSettings(kafka, topics, { log, signal });
    return Math.min(...[...settings.values()].map((values) => Number(values.get(setting) ?? defaultMs)));
  } catch (error) {
    signal.throwIfAborted();
    const why = refusalOf(error, 'Kafka') ?? describeError(error);
    log.warn(`Cannot read ${setting} of the topics, taking Kafka's default of ${defaultMs} ms: ${why}`);
    return defaultMs;
  }
}
