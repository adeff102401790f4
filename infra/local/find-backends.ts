import { containerHost, type FoundServer, startKafkaContainer, startRedisContainer } from './containers.ts';
import { startKafkaBroker } from './kafka-broker.ts';
import { startRedisServer } from './redis-server.ts';

/**
 * Kafka and Redis, each from the first of: KAFKA_BROKERS or REDIS_URL; a container engine that answers; a process of
 * our own (redis-server; Kafka's jars on a Java runtime). Missing Debian packages are installed if the user may.
 * Throws an error that says what to install. `stop` leaves servers that were there before.
 */
export async function findBackends() {
  const { KAFKA_BROKERS, REDIS_URL } = process.env;
  const host = KAFKA_BROKERS && REDIS_URL ? null : await containerHost();
  const kafkaProcess = () => startKafkaBroker().then(({ brokers, stop }) => ({ address: brokers, stop }));
  const redisProcess = () => startRedisServer().then(({ url, stop }) => ({ address: url, stop }));
  const found = await Promise.allSettled([
    findServer('Kafka', KAFKA_BROKERS, host, startKafkaContainer, kafkaProcess),
    findServer('Redis', REDIS_URL, host, startRedisContainer, redisProcess),
  ]);
  const stop = async () => {
    await Promise.all(found.map((one) => (one.status === 'fulfilled' ? one.value.stop() : undefined)));
  };
  const [kafka, redis] = found;
  if (kafka.status === 'fulfilled' && redis.status === 'fulfilled')
    return { kafkaBrokers: kafka.value.address, redisUrl: redis.value.address, stop };
  await stop();
  throw (kafka.status === 'rejected' ? kafka : (redis as PromiseRejectedResult)).reason;
}

/** `host`: of the container engine. Null if none answers. */
async function findServer(
  name: string,
  address: string | undefined,
  host: string | null,
  container: (host: string) => Promise<FoundServer>,
  process: () => Promise<FoundServer>,
): Promise<FoundServer> {
  if (address) return { address, stop: async () => undefined };
  if (host === null) return process();
  // An engine may answer but have no image and no way to get one.
  return container(host).catch((cause: Error) => {
    console.warn(`Cannot run ${name} in a container, starting a local process instead: ${cause.message}`);
    return process();
  });
}
