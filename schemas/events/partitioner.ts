import { crc32 } from 'node:zlib';
import { byTopic, type TopicName } from './records.ts';

/** How a topic's producers map keys to partitions (docs/rules.md#one-partition-per-key). `other`: as nobody knows here. */
export const partitioners = ['murmur2', 'crc32', 'other'] as const;
export type Partitioner = (typeof partitioners)[number];
export type Partitioners = Readonly<Record<TopicName, Partitioner>>;

export const defaultPartitioners: Partitioners = byTopic(() => 'murmur2');

/** The default number of partitions of each topic, in Kafka and in archives that `simulate` makes. */
export const defaultPartitions: Record<TopicName, number> = {
  metros: 1,
  districts: 1,
  'developer-keys': 1,
  riders: 4,
  rides: 4,
  nights: 4,
  attendance: 8,
  relations: 8,
};

/** The partition that a partitioner gives a key. Null: that is not known. */
export function partitionFor(partitioner: Partitioner, key: Uint8Array, partitions: number): number | null {
  if (partitions === 1) return 0;
  if (partitioner === 'other') return null;
  return partitioner === 'murmur2' ? murmur2Partition(key, partitions) : crc32Partition(key, partitions);
}

/**
 * The partition that Kafka's Java producer, and every client that follows it, chooses for a key: murmur2 of the key's
 * bytes. E.g. 4 for `r1` and 8 partitions.
 */
export function murmur2Partition(key: Uint8Array, partitions: number): number {
  // Java's `toPositive` clears the sign bit. It does not negate.
  return (murmur2(key) & 0x7fffffff) % partitions;
}

/**
 * librdkafka's default (`consistent_random`): CRC-32 of the key's bytes, e.g. 1 for `r1` and 8 partitions. It puts an empty
 * key into a random partition.
 */
export function crc32Partition(key: Uint8Array, partitions: number): number {
  return crc32(key) % partitions;
}

const seed = 0x9747b28c;
const m = 0x5bd1e995;

/** Like org.apache.kafka.common.utils.Utils.murmur2: 32-bit MurmurHash2 with Kafka's seed, as a signed number. */
function murmur2(data: Uint8Array): number {
  const { length } = data;
  const rest = length & 3;
  const whole = length - rest;
  let h = seed ^ length;
  for (let i = 0; i < whole; i += 4) {
    let k = data[i]! | (data[i + 1]! << 8) | (data[i + 2]! << 16) | (data[i + 3]! << 24);
    k = Math.imul(k, m);
    k ^= k >>> 24;
    h = Math.imul(h, m) ^ Math.imul(k, m);
  }
  if (rest === 3) h ^= data[whole + 2]! << 16;
  if (rest >= 2) h ^= data[whole + 1]! << 8;
  if (rest >= 1) h = Math.imul(h ^ data[whole]!, m);
  h ^= h >>> 13;
  h = Math.imul(h, m);
  return h ^ (h >>> 15);
}
