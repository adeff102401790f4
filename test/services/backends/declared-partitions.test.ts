import { expect, it } from 'vitest';
import { type Partitioner, partitionFor } from '../../../schemas/events/partitioner.ts';
import { byTopic, type TopicName } from '../../../schemas/events/records.ts';
import { declaredPartitions } from '../../../services/backends/declared-partitions.ts';
import { MemoryEventLog } from '../../support/stores/memory-event-log.ts';

// docs/rules.md#one-partition-per-key

const of = (one: Partitioner, key: string): number => partitionFor(one, Buffer.from(key), 4)!;
/** Rides that the two partitioners put into two partitions. */
const keys = Array.from({ length: 9_000 }, (_, i) => `ride${i}`).filter(
  (key) => of('murmur2', key) !== of('crc32', key),
);

const logOf = (partitions: number) => new MemoryEventLog({ partitions: byTopic(() => partitions), records: [] }, 500);
const publish = (log: MemoryEventLog, partition: number, all: readonly string[]) =>
  log.publish(
    'rides',
    all.map((key) => ({ key, value: null, timestampMs: 7, partition })),
  );
const look = (log: MemoryEventLog, one: Partitioner, topics: readonly TopicName[] = ['rides']) => {
  const { signal } = new AbortController();
  return declaredPartitions('simulate', topics, { log, partitioners: byTopic(() => one), signal });
};

it('what publishes goes by the declared partitioner, in topics that are empty or agree', async () => {
  const log = logOf(4);
  const goes = async (one: Partitioner) => (await look(log, one))('rides', Buffer.from(keys[0]!));
  for (const one of ['murmur2', 'crc32'] as const) expect(await goes(one)).toBe(of(one, keys[0]!));
  for (const key of keys.slice(0, 50)) await publish(log, of('crc32', key), [key]);
  expect(await goes('crc32')).toBe(of('crc32', keys[0]!));
  await expect(look(log, 'murmur2')).rejects.toThrow(
    /^Cannot run simulate: 50 misplaced records of rides, the first at rides\/\d@0: murmur2 \(KAFKA_PARTITIONER\) gives its key another partition; such a key/,
  );
  // Of topics that it does not publish to it asks nothing.
  await look(log, 'murmur2', ['nights', 'riders']);
});

it('what publishes looks at the last 1,000 well-formed keys of each partition, tombstones too, however many others stand between', async () => {
  const right = keys.filter((key) => of('murmur2', key) === 1);
  const wrong = keys.find((key) => of('murmur2', key) === 2)!;
  const holding = async (count: number) => {
    const log = logOf(4);
    await publish(log, 1, [wrong]);
    for (let i = 0; i < count; i += 100) {
      await publish(log, 1, right.slice(i, Math.min(i + 100, count)));
      await publish(log, 1, Array(300).fill('no ride'));
    }
    return log;
  };
  await expect(look(await holding(999), 'murmur2')).rejects.toThrow(
    '1 misplaced record of rides, the first at rides/1@0:',
  );
  await look(await holding(1_000), 'murmur2');
});

it('what publishes is refused with other, but not in topics of one partition', async () => {
  await expect(look(logOf(4), 'other', ['rides', 'nights'])).rejects.toThrow(
    'Cannot run simulate: KAFKA_PARTITIONER is other for rides, nights, which does not say where their keys go; want murmur2 or crc32',
  );
  expect((await look(logOf(1), 'other'))('rides', Buffer.from('ride1'))).toBe(0);
});
