import { setTimeout as sleep } from 'node:timers/promises';
import { containerEngineAnswers, startKafkaContainer, startRedisContainer } from './containers.ts';
import { freePort } from './free-port.ts';
import { startKafkaBroker } from './kafka-broker.ts';
import { startRedisServer } from './redis-server.ts';

const containerStartMsMax = 180_000;

/** Kafka and Redis for tests and for trying things out. */
export interface Backends {
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

type Start = (usualPort?: number) => Promise<Found>;

/**
 * Kafka and Redis, each from the first of: KAFKA_BROKERS or REDIS_URL; a container engine that answers; a process of
 * our own (redis-server; Kafka's jars on a Java runtime). Missing Debian packages are installed if the user may.
 * `usualPorts`: at the ports that everybody expects, where those are free. Throws an error that says what to install.
 */
export async function findBackends({ usualPorts = false } = {}): Promise<Backends> {
  const [kafkaPort, redisPort] = usualPorts ? [9092, 6379] : [];
  const { KAFKA_BROKERS, REDIS_URL } = process.env;
  const containers = !(KAFKA_BROKERS && REDIS_URL) && (await containerEngineAnswers());
  const found = await Promise.allSettled([
    KAFKA_BROKERS
      ? given(KAFKA_BROKERS, 'KAFKA_BROKERS')
      : containers
        ? startedBy('Kafka', kafkaContainer, kafkaProcess, kafkaPort)
        : kafkaProcess(kafkaPort),
    REDIS_URL
      ? given(REDIS_URL, 'REDIS_URL')
      : containers
        ? startedBy('Redis', redisContainer, redisProcess, redisPort)
        : redisProcess(redisPort),
  ]);
  const stop = async () => {
    await Promise.all(found.map((one) => (one.status === 'fulfilled' ? one.value.stop() : undefined)));
  };
  const [kafka, redis] = found;
  if (kafka.status === 'rejected' || redis.status === 'rejected') {
    await stop();
    throw kafka.status === 'rejected' ? kafka.reason : (redis as PromiseRejectedResult).reason;
  }
  return {
    kafkaBrokers: kafka.value.address,
    redisUrl: redis.value.address,
    kafkaFrom: kafka.value.from,
    redisFrom: redis.value.from,
    stop,
  };
}

/**
 * A container engine may answer but have no image and no way to get one. Then a process is started, and the reason is
 * printed.
 */
async function startedBy(what: string, container: Start, process: Start, usualPort?: number): Promise<Found> {
  const started = container(usualPort);
  const gaveUp = new AbortController();
  const tooLong = sleep(containerStartMsMax, null, { signal: gaveUp.signal, ref: false });
  let reason = `it did not start within ${containerStartMsMax / 1000} s`;
  try {
    const found = await Promise.race([started, tooLong]);
    if (found) return found;
    void started.then((late) => late.stop()).catch(() => undefined);
  } catch (cause) {
    reason = (cause as Error).message;
  } finally {
    gaveUp.abort();
    tooLong.catch(() => undefined);
  }
  console.warn(`Cannot run ${what} in a container, starting a local process instead: ${reason}`);
  return process(usualPort);
}

async function given(address: string, from: string): Promise<Found> {
  return { address, from, stop: async () => undefined };
}

async function kafkaContainer(usualPort?: number): Promise<Found> {
  return { ...(await startKafkaContainer(usualPort)), from: 'a container' };
}

async function redisContainer(usualPort?: number): Promise<Found> {
  return { ...(await startRedisContainer(usualPort)), from: 'a container' };
}

async function kafkaProcess(usualPort?: number): Promise<Found> {
  const broker = await startKafkaBroker({ usualPort });
  return { address: broker.brokers, from: `a local process, pid ${broker.pid}`, stop: broker.stop };
}

async function redisProcess(usualPort?: number): Promise<Found> {
  const server = await startRedisServer({ port: await freePort(usualPort) });
  return { address: server.url, from: `a local process, pid ${server.pid}`, stop: server.stop };
}
