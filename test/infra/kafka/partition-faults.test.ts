import { expect, it } from 'vitest';
import type { ReaderPartition } from '../../../infra/kafka/kafka-reader.ts';
import { errorText } from '../../../infra/kafka/kafka-refusal.ts';
import { errorOf } from '../../../infra/kafka/partition-faults.ts';

it('one of Kafka’s errors is said by its name, and one that is new by its number', () => {
  const rides = { topic: 'ride-calendar.rides' } as ReaderPartition;
  expect(errorOf(rides, 74).message).toBe("it answers with Kafka's error FENCED_LEADER_EPOCH");
  expect(errorText(9_999)).toBe("Kafka's error 9999");
});
