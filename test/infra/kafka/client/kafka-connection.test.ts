import { expect, it } from 'vitest';
import { adminOptions, brokerAddress } from '../../../../infra/kafka/client/kafka-connection.ts';

it.each([
  ['kafka', 'kafka', 9092],
  ['kafka:9093', 'kafka', 9093],
  ['[::1]', '::1', 9092],
  ['[::1]:9093', '::1', 9093],
])('the address %s is of %s, at port %i', (text, host, port) => {
  expect(brokerAddress(text)).toEqual({ host, port });
});

// So brokers that share an address are told apart. No certificate is asked for by an IP address.
it.each([
  [['kafka:9093'], true],
  [['kafka:9093', '[::1]:9093'], false],
  [['127.0.0.1'], false],
])('whether TLS to %j names the server is %s', (brokers, named) => {
  const options = adminOptions({ brokers, ssl: true, sasl: null });
  expect(options).toMatchObject({ tls: expect.anything(), tlsServerName: named });
});

// A broker may have credentials of one mechanism alone; one that is frozen first fails after half a minute.
it.each([
  ['plain', 'PLAIN'],
  ['scram-sha-256', 'SCRAM-SHA-256'],
  ['scram-sha-512', 'SCRAM-SHA-512'],
] as const)('%s is %s to Kafka, and an answer has half a minute to come', (mechanism, named) => {
  const user = { username: 'ada', password: 'x' };
  const options = adminOptions({ brokers: ['kafka:9092'], ssl: false, sasl: { mechanism, ...user } });
  expect(options).toMatchObject({ sasl: { mechanism: named, ...user }, connectTimeout: 5_000, requestTimeout: 30_000 });
});
