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

/** The lowest value of a setting among the topics, in milliseconds. If we may not read it: Kafka's default. */
export async function leastSettingMs(
  setting: keyof typeof kafkaDefaultsMs,
  kafka: KafkaConnection,
  topics: readonly string[],
  { log, signal }: { log: Log; signal: AbortSignal },
): Promise<number> {
  const done = new Stop([signal]);
  const admin = kafkaJs(kafka, log, done.signal).admin();
  const defaultMs = kafkaDefaultsMs[setting];
  try {
    await race(signal, admin.connect());
    const settings = await race(signal, topicSettings(admin, topics));
    return Math.min(...[...settings.values()].map((values) => Number(values.get(setting) ?? defaultMs)));
  } catch (error) {
    signal.throwIfAborted();
    const why = refusalOf(error, 'Kafka') ?? describeError(error);
    log.warn(`Cannot read ${setting} of the topics, taking Kafka's default of ${defaultMs} ms: ${why}`);
    return defaultMs;
  } finally {
    done.end();
  }
}
