import { startKafkaBroker } from './kafka-broker.ts';
import { startRedisServer } from './redis-server.ts';

/** Kafka and Redis for tests and for trying things out. */
interface Backends {
  /** As KAFKA_BROKERS takes it. */
  kafkaBrokers: string;
  redisUrl: string;
  /** Stops what was started here. Servers that were there before stay. */
  stop(): Promise<void>;
}

/**
 * Kafka and Redis: those of KAFKA_BROKERS and REDIS_URL, else processes of our own (Kafka's jars on a Java runtime;
 * redis-server). Missing Debian packages are installed if the user may. Throws an error that says what to install.
 */
export async function findBackends(): Promise<Backends> {
  const { KAFKA_BROKERS, REDIS_URL } = process.env;
  const [kafka, redis] = await Promise.allSettled([
    KAFKA_BROKERS ? null : startKafkaBroker(),
    REDIS_URL ? null : startRedisServer(),
  ]);
  const stop = async () => {
    await Promise.all([kafka, redis].map((one) => (one.status === 'fulfilled' ? one.value?.stop() : undefined)));
  };
  if (kafka.status === 'fulfilled' && redis.status === 'fulfilled')
    return { kafkaBrokers: kafka.value?.brokers ?? KAFKA_BROKERS!, redisUrl: redis.value?.url ?? REDIS_URL!, stop };
  await stop();
  throw kafka.status === 'rejected' ? kafka.reason : (redis as PromiseRejectedResult).reason;
}
