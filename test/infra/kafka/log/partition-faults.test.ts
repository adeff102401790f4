import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { errorOf, type FollowedPartition } from '../../../../infra/kafka/log/followed-partition.ts';
import { PartitionFaults } from '../../../../infra/kafka/log/partition-faults.ts';
import { errorText } from '../../../../infra/kafka/protocol/broker-refusal.ts';

it('one of Kafka’s errors is said by its name, and one that is new by its number', () => {
  const rides = { topic: 'ride-calendar.rides' } as FollowedPartition;
  expect(errorOf(rides, 74).message).toBe("it answers with Kafka's error FENCED_LEADER_EPOCH");
  expect(errorText(9_999)).toBe("Kafka's error 9999");
});

it('what one answer says of many partitions is one line, as is its end', async () => {
  const lines: string[] = [];
  const say = (line: string) => void lines.push(line);
  const faults = new PartitionFaults({ info: say, warn: say, error: say }, new AbortController().signal);
  const partitions = [0, 1, 2].map((partition) => ({ topic: 'rides', partition }) as FollowedPartition);
  await Promise.all(partitions.map((one) => faults.failed(one, new Error(one.partition < 2 ? 'gone' : 'spoilt'))));
  for (const one of partitions) faults.succeeded(one);
  await nextTurn();
  expect(lines).toEqual([
    'Cannot read rides/0, rides/1 from Kafka: gone; trying again',
    'Cannot read rides/2 from Kafka: spoilt; trying again',
    'Cannot read rides/0, rides/1, rides/2 from Kafka: over, Kafka answers again',
  ]);
});
