import { setTimeout as sleep } from 'node:timers/promises';
import kafkajs, { type Admin } from 'kafkajs';
import type { KafkaConnection } from './kafka-client.ts';
import { kafkaJs } from './kafka-js.ts';
import { describe, type KafkaLog } from './kafka-retry.ts';
import { topicSettings } from './kafka-topic-settings.ts';

const setting = 'max.compaction.lag.ms';
const noLimit = String(2n ** 63n - 1n);
const setOnTopic = 1;
const lookMs = 100;
const looksMax = 100;

/**
 * Lifts the time after which Kafka compacts superseded records away, before records of long ago are published: Kafka
 * goes by their own times, and would drop what stands before a bad record within seconds. Says what it did, and how to
 * set it back; where Kafka refuses, says so and leaves it.
 */
export async function liftCompactionLimit(
  kafka: KafkaConnection,
  topics: readonly string[],
  log: KafkaLog,
): Promise<void> {
  const admin = kafkaJs(kafka, log).admin();
  try {
    await admin.connect();
    const before = await topicSettings(admin, topics);
    const limited = topics.filter((topic) => Number(before.get(topic)?.get(setting) ?? noLimit) < Number(noLimit));
    if (limited.length === 0) return;
    await setLimit(admin, limited);
    await untilLifted(admin, limited);
    const was = [...new Set(limited.map((topic) => before.get(topic)!.get(setting)))].join(', ');
    log.warn(
      `Lifted ${setting} of ${limited.join(', ')}, so that the archive's superseded records stay: those of erased riders too. Once its bad records are mended, set it back to ${was} with kafka-configs --alter`,
    );
  } catch (error) {
    log.warn(
      `Cannot lift ${setting} of the topics, so what stands before a bad record may soon be gone: ${describe(error)}`,
    );
  } finally {
    await admin.disconnect();
  }
}

/** A broker goes by new settings only after a moment. */
async function untilLifted(admin: Admin, topics: readonly string[]): Promise<void> {
  for (let looks = 0; looks < looksMax; looks++) {
    const settings = await topicSettings(admin, topics);
    if (topics.every((topic) => settings.get(topic)?.get(setting) === noLimit)) return;
    await sleep(lookMs);
  }
  throw new Error('Kafka does not show it after 10 s');
}

/** kafkajs replaces all settings of a topic: those that are set on it go along. */
async function setLimit(admin: Admin, topics: readonly string[]): Promise<void> {
  const named = topics.map((name) => ({ type: kafkajs.ConfigResourceTypes.TOPIC, name }));
  const { resources } = await admin.describeConfigs({ resources: named, includeSynonyms: false });
  await admin.alterConfigs({
    validateOnly: false,
    resources: resources.map(({ resourceName, configEntries }) => ({
      type: kafkajs.ConfigResourceTypes.TOPIC,
      name: resourceName,
      configEntries: [
        ...configEntries
          .filter(({ configName, configSource }) => Number(configSource) === setOnTopic && configName !== setting)
          .map(({ configName, configValue }) => ({ name: configName, value: configValue })),
        { name: setting, value: noLimit },
      ],
    })),
  });
}
