import { zstdCompressSync } from 'node:zlib';
import { type CompressionAlgorithmValue, Reader, readRecordsBatches } from '@platformatic/kafka';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readRecordBatches, recordPieces } from '../../../../infra/kafka/protocol/record-batch.ts';
import { longOf } from '../../../../schemas/events/instants.ts';
import {
  attributesAt,
  batchOf,
  countAt,
  type Message,
  packedBatch,
  recordsAt,
  recordsIn,
  recordsOf,
  rewritten,
} from './batches.ts';

const bytes = fc.uint8Array({ maxLength: 200 }).map((array) => Buffer.from(array));
const bytesOrNone = fc.option(bytes, { nil: null });
const message: fc.Arbitrary<Message> = fc.record({
  key: bytesOrNone,
  value: bytesOrNone,
  // Deltas of any size, to both sides.
  timestamp: fc.bigInt({ min: -(2n ** 40n), max: 2n ** 44n }),
  headers: fc.array(fc.tuple(bytes, bytes), { maxLength: 3 }).map((pairs) => new Map(pairs)),
});
const messages = fc.array(message, { minLength: 1, maxLength: 20 });

/** What the client library reads. */
const expected = (all: Buffer) =>
  readRecordsBatches(Reader.from(all)).flatMap((batch) =>
    batch.records.map(({ offsetDelta, timestampDelta, key, value, headers }) => ({
      offset: Number(batch.firstOffset) + offsetDelta,
      timestampMs: Number(batch.firstTimestamp + timestampDelta),
      key,
      value,
      headers: [...headers].map(([name, content]) => ({ key: String(name ?? ''), value: content })),
    })),
  );

const plain: Message = { key: Buffer.from('key'), value: Buffer.from('value'), timestamp: 5n, headers: new Map() };
const many = (count: number): Message[] => Array(count).fill(plain);

describe('record batches', () => {
  it('are read as the client library reads them, however they are compressed', () => {
    const codec = fc.constantFrom<CompressionAlgorithmValue>('none', 'gzip', 'snappy', 'lz4', 'zstd');
    fc.assert(
      fc.property(fc.array(fc.tuple(messages, codec), { maxLength: 3 }), fc.nat(), (batches, offset) => {
        const all = Buffer.concat(batches.map(([one, packed], i) => batchOf(one, packed, offset + 100 * i)));
        expect(recordsIn(all)).toEqual(expected(all));
      }),
      { numRuns: 200 },
    );
  });

  it("have the writer's time, or the broker's where the topic says so", () => {
    const written = batchOf([plain, { ...plain, timestamp: 7n }]);
    const appended = rewritten(written, (batch) => {
      batch.writeInt16BE(1 << 3, attributesAt);
      batch.writeBigInt64BE(9_000n, 35);
    });
    expect(recordsIn(written).map(({ timestampMs }) => timestampMs)).toEqual([5, 7]);
    expect(recordsIn(appended).map(({ timestampMs }) => timestampMs)).toEqual([9_000, 9_000]);
  });

  // docs/rules.md#timestamps
  it('have all 64 bits of a time, and sums beyond them wrap round, as in Kafka', () => {
    const int64 = fc.oneof(
      fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
      fc.constantFrom(-1n, 2n ** 53n, -(2n ** 52n) - 1n),
    );
    fc.assert(
      fc.property(int64, int64, (first, delta) => {
        // attributes, the delta as a zigzag varint, and 0 for the rest: an offset, an empty key, a value and no headers
        const bytes = [0];
        let rest = BigInt.asUintN(64, (delta << 1n) ^ (delta >> 63n));
        for (; rest > 0x7fn; rest >>= 7n) bytes.push(0x80 | Number(rest & 0x7fn));
        bytes.push(Number(rest), 0, 0, 0, 0);
        const batch = packedBatch(Buffer.from([2 * bytes.length, ...bytes]), 0, 1);
        const [record] = recordsIn(rewritten(batch, (head) => void head.writeBigInt64BE(first, 27)));
        expect(record).toMatchObject({ timestampMs: longOf(BigInt.asIntN(64, first + delta)) });
      }),
    );
  });

  it('end before one that was cut off, and are refused where a byte was changed on the way', () => {
    const whole = batchOf([plain]);
    for (let at = 0; at < whole.length; at++) {
      expect(recordsIn(Buffer.concat([whole, whole.subarray(0, at)]))).toHaveLength(1);
      const broken = Buffer.from(whole);
      broken[at]! ^= 0xff;
      if (at >= attributesAt) expect(() => recordsIn(broken)).toThrow('its checksum is wrong');
    }
    const changed = (change: (batch: Buffer) => void) => () => recordsIn(rewritten(whole, change));
    expect(changed((batch) => batch.writeInt8(1, 16))).toThrow('its record format is 1, want 2');
    expect(changed((batch) => batch.writeInt32BE(10, 8))).toThrow('shorter than its header');
  });
});

// docs/rules.md#bad-batches
describe('the records of a batch', () => {
  const pieces = (all: Buffer, from = 0) =>
    [...recordPieces(readRecordBatches(all), from, 99_999)].map(({ records, nextOffset }) => [
      records[0]!.offset,
      records.length,
      nextOffset,
    ]);

  it('are handed on by the thousand, across batches, and those before the offset asked for are left out', () => {
    const large = batchOf([{ ...plain, value: Buffer.alloc(2 << 20) }], 'zstd', 3_003);
    const batches = [batchOf(many(700)), batchOf(many(1_800), 'zstd', 700), batchOf(many(3), 'gzip', 3_000), large];
    const all = Buffer.concat([...batches, batchOf([plain], 'zstd', 4_000)]);
    expect(pieces(all)).toEqual([
      [0, 1_000, 1_000],
      [1_000, 1_000, 2_000],
      // Before the batch behind a large one is unpacked.
      [2_000, 504, 3_004],
      [4_000, 1, 99_999],
    ]);
    expect(pieces(all, 2_400)[0]).toEqual([2_400, 104, 3_004]);
  });

  it('are not unpacked where all are before the offset asked for', () => {
    const [batch] = readRecordBatches(batchOf(many(3), 'zstd'));
    Object.defineProperty(batch, 'bytes', { get: () => expect.unreachable('it was unpacked') });
    expect(recordsOf([batch!], 3)).toEqual([]);
    expect(() => recordsOf([batch!], 2)).toThrow('it was unpacked');
  });

  it('are one bad record where they would be too large: the batch as it came, at its first offset', () => {
    const bomb = packedBatch(zstdCompressSync(Buffer.alloc(64 * 2 ** 20 + 1)), 4, 6, 10);
    const all = Buffer.concat([batchOf([plain]), bomb, batchOf([plain], 'none', 16)]);
    const [before, bad, after] = recordsIn(all);
    expect([before!.offset, after!.offset]).toEqual([0, 16]);
    expect(bad).toEqual({
      offset: 10,
      timestampMs: 0,
      key: null,
      value: bomb,
      headers: [
        { key: 'ride-calendar.last-offset', value: Buffer.from('15') },
        { key: 'ride-calendar.codec', value: Buffer.from('zstd') },
      ],
      fault: 'batch too large',
    });
    expect(recordsIn(all, 11).map(({ offset }) => offset)).toEqual([16]);
  });

  it('are a bad record where they do not unpack, whatever count the header says', () => {
    for (const [codec, count] of Object.entries({ 1: 6, 2: 6, 3: -1, 4: 0, 7: 1 })) {
      const bad = recordsIn(packedBatch(Buffer.from('these are no records'), Number(codec), count, 10));
      expect(bad).toMatchObject([{ offset: 10, fault: 'unreadable batch' }]);
    }
  });

  it('are read up to the one that ends elsewhere than it says; from there on they are a bad record', () => {
    const whole = batchOf(many(5), 'none', 10);
    for (let at = recordsAt; at < whole.length; at++) {
      const records = recordsIn(rewritten(whole, (batch) => batch.writeUInt8(batch[at]! ^ 0xff, at)));
      expect([-1, records.length - 1]).toContain(records.findIndex(({ fault }) => fault));
      expect(records.length).toBeLessThanOrEqual(5);
    }
    const short = recordsIn(rewritten(whole, (batch) => batch.writeInt32BE(7, countAt)));
    expect(short.map(({ fault }) => fault)).toEqual([...Array(5).fill(undefined), 'unreadable batch']);
  });

  it('are a bad record from one with over a thousand headers on', () => {
    const having = (length: number) => {
      return { ...plain, headers: new Map(Array.from({ length }, () => [Buffer.from('h'), Buffer.from('')])) };
    };
    const found = recordsIn(batchOf([plain, having(1_000), having(1_001), plain]));
    expect(found.map(({ fault }) => fault)).toEqual([undefined, undefined, 'unreadable batch']);
  });
});
