import { expect, test } from 'vitest';
import { crc32Partition, murmur2Partition } from '../../../schemas/events/partitioner.ts';

test('murmur2 is what Kafka’s own tests want, and a negative hash drops its sign, as in Java', () => {
  // From Kafka's own UtilsTest.testMurmur2.
  for (const [key, hash] of [
    ['21', -973932308],
    ['a-little-bit-long-string', -985981536],
    ['lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8', -58897971],
    ['abc', 479470107],
  ] as const)
    for (const count of [4, 2 ** 31])
      expect(murmur2Partition(Buffer.from(key), count)).toBe((hash & 0x7fffffff) % count);
});

test('the CRC32 partition is what librdkafka’s own tests want', () => {
  // From its test 0048-partitioner.
  for (const [key, hash] of [
    ['23456', 0xb1b451d7],
    ['this is another string with more length to it perhaps', 0xb0150df7],
    ['hejsan', 0xd077037e],
  ] as const)
    for (const count of [1, 4, 17]) expect(crc32Partition(Buffer.from(key), count)).toBe(hash % count);
});
