import type { GenericContainer } from 'testcontainers';
import { race, within } from '../../projector/running/stop.ts';
import { freePort } from './free-port.ts';
import { kafkaVersion } from './kafka-broker.ts';

export interface FoundServer {
  address: string;
  stop(): Promise<unknown>;
}

/**
 * The host at which ports of containers are reached, such as `localhost`. Null if no engine answers in 5 s: testcontainers
 * would wait forever for a socket that never does.
 */
export async function containerHost(): Promise<string | null> {
  const { getContainerRuntimeClient } = await import('testcontainers');
  return within(5_000, (late) => race(late, getContainerRuntimeClient())).then(
    ({ info }) => info.containerRuntime.host,
    () => null,
  );
}

/** A container with one port, bound to 127.0.0.1 as its server lets everybody in; to us, if the engine is elsewhere. */
export async function containerWithPort(image: string, port: { container: number; host: number }, engineHost: string) {
  const { GenericContainer } = await import('testcontainers');
  class Container extends GenericContainer {
    bind(HostIp: string): void {
      const binding = { HostIp, HostPort: String(port.host) };
      this.hostConfig.PortBindings = { [`${port.container}/tcp`]: [binding] };
    }
  }
  const container = new Container(image).withExposedPorts(port);
  if (['localhost', '127.0.0.1'].includes(engineHost)) container.bind('127.0.0.1');
  return container;
}

/** Redis in a container: address `redis://host:port`. */
export async function startRedisContainer(host: string): Promise<FoundServer> {
  const port = await freePort();
  const redis = await containerWithPort('redis:7', { container: 6379, host: port }, host);
  redis.withCommand(['redis-server', '--save', '', '--maxmemory-policy', 'noeviction']);
  return started(redis, `redis://${host}:${port}`);
}

/**
 * Kafka in a container: address `host:port`. The port is chosen beforehand, because the broker must advertise it. The
 * broker has another listener for itself: inside the container the advertised address may lead nowhere, and transactions
 * would hang.
 */
export async function startKafkaContainer(host: string): Promise<FoundServer> {
  const { Wait } = await import('testcontainers');
  const port = await freePort();
  // 9092 is the port that the image itself exposes. For an exposed port that is not mapped, podman waits forever.
  const kafka = await containerWithPort(`apache/kafka:${kafkaVersion}`, { container: 9092, host: port }, host);
  kafka
    .withEnvironment({
      KAFKA_NODE_ID: '1',
      KAFKA_PROCESS_ROLES: 'broker,controller',
      KAFKA_CONTROLLER_QUORUM_VOTERS: '1@localhost:9093',
      KAFKA_CONTROLLER_LISTENER_NAMES: 'CONTROLLER',
      KAFKA_LISTENERS: `PLAINTEXT://:9092,INTERNAL://localhost:9094,CONTROLLER://localhost:9093`,
      KAFKA_ADVERTISED_LISTENERS: `PLAINTEXT://${host}:${port},INTERNAL://localhost:9094`,
      KAFKA_INTER_BROKER_LISTENER_NAME: 'INTERNAL',
      KAFKA_LISTENER_SECURITY_PROTOCOL_MAP: 'PLAINTEXT:PLAINTEXT,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT',
      KAFKA_AUTO_CREATE_TOPICS_ENABLE: 'false',
      KAFKA_OFFSETS_TOPIC_NUM_PARTITIONS: '1',
      KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR: '1',
      KAFKA_TRANSACTION_STATE_LOG_NUM_PARTITIONS: '1',
      KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR: '1',
      KAFKA_TRANSACTION_STATE_LOG_MIN_ISR: '1',
      KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS: '0',
      KAFKA_LOG_CLEANER_BACKOFF_MS: '200',
      KAFKA_HEAP_OPTS: '-Xms128m -Xmx512m',
    })
    .withWaitStrategy(Wait.forLogMessage(/Kafka Server started/));
  return started(kafka, `${host}:${port}`);
}

async function started(container: GenericContainer, address: string): Promise<FoundServer> {
  const running = await container.start();
  return { address, stop: () => running.stop() };
}
