import { expect, it } from 'vitest';
import { errorOf, type FollowedPartition } from '../../../../infra/kafka/log/followed-partition.ts';
import { PartitionFaults } from '../../../../infra/kafka/log/partition-faults.ts';
import { errorText } from '../../../../infra/kafka/protocol/broker-refusal.ts';

it('one of Kafka’s errors is said by its name, and one that is new by its number', () => {
  const rides = { topic: 'ride-calendar.rides' } as FollowedPartition;
  expect(errorOf(rides, 74).message).toBe("it answers with Kafka's error FENCED_LEADER_EPOCH");
  expect(errorText(9_999)).toBe("Kafka's error 9999");
});

it('each partition that can’t be read is told of, and its end', async () => {
  const lines: string[] = [];
  const say = (line: string) => void lines.push(line);
  const faults = new PartitionFaults({ info: say, warn: say, error: say }, new AbortController().signal);
  const partitions = [0, 1].map((partition) => ({ topic: 'rides', partition }) as FollowedPartition);
  await Promise.all(partitions.map((one) => faults.failed(one, new Error('gone'))));
  faults.succeeded(partitions[1]!);
  expect(lines).toEqual([
    'Cannot read rides/0 from Kafka: gone; trying again',
    'Cannot read rides/1 from Kafka: gone; trying again',
    'Cannot read rides/1 from Kafka: over, Kafka answers again',
  ]);
});
