import { isIP } from 'node:net';
import { type AdminOptions, type ConnectionOptions, ConnectionPool } from '@platformatic/kafka';
import { noting } from '../../net/certificate-ends.ts';

/** How to reach Kafka: KAFKA_BROKERS, KAFKA_SSL, KAFKA_SASL_*. */
export interface KafkaConnection {
  /** `host:port` each. At least one. */
  brokers: string[];
  ssl: boolean;
  sasl: { mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512'; username: string; password: string } | null;
}

const mechanisms = { plain: 'PLAIN', 'scram-sha-256': 'SCRAM-SHA-256', 'scram-sha-512': 'SCRAM-SHA-512' } as const;

const clientId = 'ride-calendar';

/** Options of an Admin of @platformatic/kafka for this cluster. */
export const adminOptions = (kafka: KafkaConnection): AdminOptions => ({
  clientId,
  bootstrapBrokers: kafka.brokers,
  ...connectionOptions(kafka),
});

/** Connections to this cluster, one per broker, made on demand. */
export const connectionPool = (kafka: KafkaConnection): ConnectionPool =>
  new ConnectionPool(clientId, connectionOptions(kafka));

function connectionOptions({ brokers, ssl, sasl }: KafkaConnection): ConnectionOptions {
  // TLS sends the server's host name (SNI), so that several servers can share an address. An IP address is not a host
  // name.
  const tlsServerName = !brokers.some((broker) => isIP(brokerAddress(broker).host));
  return {
    connectTimeout: 5_000,
    requestTimeout: 30_000,
    ...(ssl ? { tls: noting('KAFKA_BROKERS'), tlsServerName } : {}),
    ...(sasl ? { sasl: { ...sasl, mechanism: mechanisms[sasl.mechanism] } } : {}),
  };
}

/** Splits `host:port`. The port is 9092 by default. IPv6 addresses are in brackets, e.g. `[::1]:9092`. */
export function brokerAddress(text: string): { host: string; port: number } {
  const [, bracketed, plain, port] = /^(?:\[(.+)\]|([^:]+))(?::(\d+))?$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  if (!host) throw new Error(`Cannot read the broker address ${text}: give host:port`);
  return { host, port: port ? Number(port) : 9092 };
}
