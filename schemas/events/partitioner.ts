import type { TopicName } from './records.ts';

/** Partitions of each topic, unless somebody asks for others: those of a topic in Kafka, and of an archive made up here. */
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

/**
 * The partition of a key as Kafka's Java producer chooses it, and with it every client that follows it: murmur2 of the
 * key's bytes. `length`: of the key, where the bytes go on behind it.
 */
export function murmur2Partition(key: Uint8Array, partitions: number, length = key.length): number {
  // Java's `toPositive`: it drops the sign, and does not negate.
  return (murmur2(key, length) & 0x7fffffff) % partitions;
}

/** As librdkafka chooses it by default (`consistent_random`): CRC-32 of the key's bytes. It puts an empty key anywhere. */
export function crc32Partition(key: Uint8Array, partitions: number, length = key.length): number {
  return (crc32(key, length) >>> 0) % partitions;
}

const seed = 0x9747b28c;
const m = 0x5bd1e995;

/** As org.apache.kafka.common.utils.Utils.murmur2: 32-bit MurmurHash2 with Kafka's seed, as a signed number. */
export function murmur2(data: Uint8Array, length = data.length): number {
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

/** Of bytes with so many bytes of 0 behind them: table after table. */
const crcTables = new Int32Array(4 * 256);
for (let byte = 0; byte < 256; byte++) {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  crcTables[byte] = crc;
}
for (let byte = 0; byte < 768; byte++) {
  const crc = crcTables[byte]!;
  crcTables[256 + byte] = crcTables[crc & 0xff]! ^ (crc >>> 8);
}

/** As zlib's CRC-32, as a signed number. Node's own takes three times as long for a key: it is asked of millions. */
export function crc32(data: Uint8Array, length = data.length): number {
  const whole = length - (length & 3);
  let crc = -1;
  for (let i = 0; i < whole; i += 4) {
    crc ^= data[i]! | (data[i + 1]! << 8) | (data[i + 2]! << 16) | (data[i + 3]! << 24);
    crc =
      crcTables[768 + (crc & 0xff)]! ^
      crcTables[512 + ((crc >>> 8) & 0xff)]! ^
      crcTables[256 + ((crc >>> 16) & 0xff)]! ^
      crcTables[crc >>> 24]!;
  }
  for (let i = whole; i < length; i++) crc = crcTables[(crc ^ data[i]!) & 0xff]! ^ (crc >>> 8);
  return ~crc;
}
