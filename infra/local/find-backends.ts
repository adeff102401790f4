import { containerEngineAnswers, startKafkaContainer, startRedisContainer } from './containers.ts';
import { startKafkaBroker } from './kafka-broker.ts';
import { startRedisServer } from './redis-server.ts';

/** Kafka and Redis for tests and for trying things out. */
interface Backends {
  /** As KAFKA_BROKERS takes it. */
  kafkaBrokers: string;
  redisUrl: string;
  /** Where each came from, for people: `KAFKA_BROKERS`, `a container`, `a local process`. */
  kafkaFrom: string;
  redisFrom: string;
  /** Stops what was started here. Servers that were there before stay. */
  stop(): Promise<void>;
}

interface Found {
  address: string;
  from: string;
  stop(): Promise<void>;
}

/** A server, and the ways to get it. */
interface Wanted {
  name: string;
  /** The setting that names one. */
  setting: 'KAFKA_BROKERS' | 'REDIS_URL';
  container: () => Promise<Omit<Found, 'from'>>;
  process: () => Promise<Found>;
}

const kafka: Wanted = {
  name: 'Kafka',
  setting: 'KAFKA_BROKERS',
  container: startKafkaContainer,
  process: async () => {
    const { brokers, pid, stop } = await startKafkaBroker();
    return { address: brokers, from: `a local process, pid ${pid}`, stop };
  },
};

const redis: Wanted = {
  name: 'Redis',
  setting: 'REDIS_URL',
  container: startRedisContainer,
  process: async () => {
    const { url, pid, stop } = await startRedisServer();
    return { address: url, from: `a local process, pid ${pid}`, stop };
  },
};

/**
 * Kafka and Redis, each from the first of: KAFKA_BROKERS or REDIS_URL; a container engine that answers; a process of
 * our own (redis-server; Kafka's jars on a Java runtime). Missing Debian packages are installed if the user may.
 * Throws an error that says what to install.
 */
export async function findBackends(): Promise<Backends> {
  const { KAFKA_BROKERS, REDIS_URL } = process.env;
  const containers = !(KAFKA_BROKERS && REDIS_URL) && (await containerEngineAnswers());
  const found = await Promise.allSettled([find(kafka, containers), find(redis, containers)]);
  const stop = async () => {
    await Promise.all(found.map((one) => (one.status === 'fulfilled' ? one.value.stop() : undefined)));
  };
  const failed = found.find(({ status }) => status === 'rejected') as PromiseRejectedResult | undefined;
  if (failed) {
    await stop();
    throw failed.reason;
  }
  const [{ address: kafkaBrokers, from: kafkaFrom }, { address: redisUrl, from: redisFrom }] = found.map(
    (one) => (one as PromiseFulfilledResult<Found>).value,
  ) as [Found, Found];
  return { kafkaBrokers, redisUrl, kafkaFrom, redisFrom, stop };
}

async function find(wanted: Wanted, containers: boolean): Promise<Found> {
  const address = process.env[wanted.setting];
  if (address) return { address, from: wanted.setting, stop: async () => undefined };
  return (containers && (await inContainer(wanted))) || wanted.process();
}

/** Null if it does not start: an engine may answer but have no image and no way to get one. The reason is printed. */
async function inContainer({ name, container }: Wanted): Promise<Found | null> {
  try {
    return { ...(await container()), from: 'a container' };
  } catch (cause) {
    const reason = (cause as Error).message;
    console.warn(`Cannot run ${name} in a container, starting a local process instead: ${reason}`);
    return null;
  }
}
