import type { GenericContainer } from 'testcontainers';
import { race, within } from '../../projector/running/stop.ts';
import { freePort } from './free-port.ts';
import { brokerSettings, kafkaVersion } from './kafka-broker.ts';

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
async function containerWithPort(image: string, port: { container: number; host: number }, engineHost: string) {
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
  const settings = brokerSettings('localhost:9093', [
    { name: 'PLAINTEXT', protocol: 'PLAINTEXT', at: ':9092', advertised: `${host}:${port}` },
    { name: 'INTERNAL', protocol: 'PLAINTEXT', at: 'localhost:9094' },
  ]);
  // The image's own spelling of settings.
  const spelled = Object.entries(settings).map(([name, value]) => [
    `KAFKA_${name.toUpperCase().replaceAll('.', '_')}`,
    value,
  ]);
  kafka
    .withEnvironment({ ...Object.fromEntries(spelled), KAFKA_HEAP_OPTS: '-Xms128m -Xmx512m' })
    .withWaitStrategy(Wait.forLogMessage(/Kafka Server started/));
  return started(kafka, `${host}:${port}`);
}

async function started(container: GenericContainer, address: string): Promise<FoundServer> {
  const running = await container.start();
  return { address, stop: () => running.stop() };
}
