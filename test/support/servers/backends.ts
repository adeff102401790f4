import { randomBytes } from 'node:crypto';
import { inject } from 'vitest';

/** Address of the run's Kafka, as KAFKA_BROKERS takes it. Throws, with what to install, where there is none. */
export function kafkaBrokers(): string {
  return provided('kafkaBrokers');
}

/** Address of the run's Redis. Throws, with what to install, where there is none. */
export function redisUrl(): string {
  return provided('redisUrl');
}

function provided(name: 'kafkaBrokers' | 'redisUrl'): string {
  const reason = inject('backendsError');
  if (reason) throw new Error(`This test needs Kafka and Redis: ${reason}`);
  return inject(name);
}

// Every test has topics, keys and groups of its own, so none has to clean up or wait for another.

/** A topic prefix that nobody else uses, such as `t1f0c9a7be2d4.`. */
export const freshTopicPrefix = (): string => `t${unique()}.`;
/** A prefix for Redis keys that nobody else uses, such as `t1f0c9a7be2d4:`. */
export const freshKeyPrefix = (): string => `t${unique()}:`;
/** A consumer group that nobody else uses. */
export const freshGroup = (): string => `group-${unique()}`;

/** Settings of the run's Kafka and Redis, for topics and keys that nobody else uses. */
export const freshKafka = () => ({ KAFKA_BROKERS: kafkaBrokers(), KAFKA_TOPIC_PREFIX: freshTopicPrefix() });
export const freshRedis = () => ({ REDIS_URL: redisUrl(), REDIS_KEY_PREFIX: freshKeyPrefix() });

const unique = () => randomBytes(6).toString('hex');
