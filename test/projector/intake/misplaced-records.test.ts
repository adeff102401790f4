import { expect, it } from 'vitest';
import { MisplacedRecords } from '../../../projector/intake/misplaced-records.ts';
import { defaultPartitioners, type Partitioner, partitionFor } from '../../../schemas/events/partitioner.ts';
import { byTopic, type TopicName } from '../../../schemas/events/records.ts';

// docs/rules.md#one-partition-per-key

const key = (i: number, topic: TopicName): string => (topic === 'relations' ? `r${i}/other` : `ride${i}`);

const at = (topic: TopicName, partition: number, offset: number, text: string | null) => ({
  topic,
  partition,
  offset,
  keyBytes: text === null ? null : Buffer.from(text),
});

it('counts by topic what is in another partition than the partitioner gives its key, and keeps the first place', () => {
  const declared = { ...defaultPartitioners, relations: 'crc32' } as const;
  const misplaced = new MisplacedRecords(declared);
  const wanted: Record<string, { records: number; first: string }> = {};
  for (const topic of ['rides', 'relations'] as const) {
    for (let i = 0; i < 400; i++) {
      const text = key(i, topic);
      // As Java's producer and librdkafka's would put it by turns.
      const partition = partitionFor(i % 2 ? 'crc32' : 'murmur2', Buffer.from(text), 4)!;
      const isWrong = partition !== partitionFor(declared[topic], Buffer.from(text), 4);
      expect(misplaced.take(at(topic, partition, i, text), 4)).toBe(isWrong);
      if (!isWrong) continue;
      wanted[topic] ??= { records: 0, first: `${topic}/${partition}@${i}` };
      wanted[topic].records++;
    }
  }
  expect(Object.fromEntries(misplaced.found)).toEqual(wanted);
  expect(wanted.rides!.records).toBeGreaterThan(100);
  expect(misplaced.lines).toEqual([
    `${wanted.rides!.records} misplaced records of rides, the first at ${wanted.rides!.first}: murmur2 (KAFKA_PARTITIONER) gives its key another partition`,
    expect.stringMatching(/of relations, the first at relations\/\d@\d+: crc32 /),
  ]);
});

it('counts nothing with other, in a topic of one partition, or of keys that are bad; tombstones count', () => {
  const take = (partitioner: Partitioner, partition: number, text: string | null, partitions = 4) =>
    new MisplacedRecords(byTopic(() => partitioner)).take(at('relations', partition, 0, text), partitions);
  // Both partitioners put it into partition 0 of four.
  const isCommon = (text: string) =>
    (['murmur2', 'crc32'] as const).every((one) => partitionFor(one, Buffer.from(text), 4) === 0);
  const text = Array.from({ length: 1_000 }, (_, i) => key(i, 'relations')).find(isCommon)!;
  expect([take('murmur2', 1, text), take('crc32', 1, text)]).toEqual([true, true]);
  expect([take('murmur2', 0, text), take('crc32', 0, text)]).toEqual([false, false]);
  expect([take('other', 1, text), take('murmur2', 0, 'r5/r6', 1), take('crc32', 0, 'r5/r6', 1)]).not.toContain(true);
  for (const partition of [0, 1, 2, 3])
    for (const bad of [null, '', 'me/me', 'no slash', 'é/r1'])
      expect([bad, take('murmur2', partition, bad), take('crc32', partition, bad)]).toEqual([bad, false, false]);
});
