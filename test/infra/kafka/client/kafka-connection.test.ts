import { expect, it } from 'vitest';
import { brokerAddress } from '../../../../infra/kafka/client/kafka-connection.ts';

it.each([
  ['kafka', 'kafka', 9092],
  ['kafka:9093', 'kafka', 9093],
  ['[::1]', '::1', 9092],
  ['[::1]:9093', '::1', 9093],
])('the address %s is of %s, at port %i', (text, host, port) => {
  expect(brokerAddress(text)).toEqual({ host, port });
});
