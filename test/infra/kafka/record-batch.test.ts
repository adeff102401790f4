import { type CompressionAlgorithmValue, createRecordsBatch, Reader, readRecordsBatches } from '@platformatic/kafka';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readRecordBatches } from '../../../infra/kafka/record-batch.ts';

interface Message {
  key: Buffer | null;
  value: Buffer | null;
  timestamp: bigint;
  headers: Map<Buffer, Buffer>;
}

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
const compressions: readonly CompressionAlgorithmValue[] = ['none', 'gzip', 'snappy', 'lz4', 'zstd'];

/** As the client library writes a batch; the first offset and the leader's epoch are the broker's to set. */
function batchOf(all: readonly Message[], compression: CompressionAlgorithmValue = 'none', firstOffset = 0): Buffer {
  const made = all.map((one) => ({ ...one, topic: 't' })) as never;
  const { buffer } = createRecordsBatch(made, { compression });
  buffer.writeBigInt64BE(BigInt(firstOffset), 0);
  return buffer;
}

/** What the client library reads. */
const expected = (all: Buffer) =>
  readRecordsBatches(Reader.from(all)).map((batch) => ({
    firstOffset: Number(batch.firstOffset),
    lastOffset: Number(batch.firstOffset) + batch.lastOffsetDelta,
    leaderEpoch: batch.partitionLeaderEpoch,
    attributes: batch.attributes,
    producerId: batch.producerId,
    records: batch.records.map(({ offsetDelta, timestampDelta, key, value, headers }) => ({
      offset: Number(batch.firstOffset) + offsetDelta,
      timestampMs: Number(batch.firstTimestamp + timestampDelta),
      key,
      value,
      headers,
    })),
  }));

const read = (all: Buffer) =>
  readRecordBatches(all).map((batch) => ({
    ...batch,
    records: batch.records.map(({ offset, timestampMs, key, value, headers }) => ({
      offset,
      timestampMs,
      key,
      value,
      headers,
    })),
  }));

const plain: Message = { key: Buffer.from('key'), value: Buffer.from('value'), timestamp: 5n, headers: new Map() };

describe('record batches', () => {
  it.each(compressions)('compressed with %s are read as the client library reads them', (compression) => {
    fc.assert(
      fc.property(fc.array(messages, { maxLength: 3 }), fc.nat(), (batches, offset) => {
        const all = Buffer.concat(batches.map((one, i) => batchOf(one, compression, offset + 100 * i)));
        expect(read(all)).toEqual(expected(all));
      }),
    );
  });

  it("have the writer's time, or the broker's where the topic says so", () => {
    const written = batchOf([plain, { ...plain, timestamp: 7n }]);
    const appended = Buffer.from(written);
    appended.writeInt16BE(1 << 3, 21);
    appended.writeBigInt64BE(9_000n, 35);
    expect(read(written)[0]!.records.map(({ timestampMs }) => timestampMs)).toEqual([5, 7]);
    expect(read(appended)[0]!.records.map(({ timestampMs }) => timestampMs)).toEqual([9_000, 9_000]);
  });

  it('end before one that was cut off', () => {
    const whole = batchOf([plain]);
    for (let length = 0; length < whole.length; length++) {
      expect(read(Buffer.concat([whole, whole.subarray(0, length)]))).toHaveLength(1);
    }
  });

  it('are refused where a byte of a length is wrong, or read as something else, but never beyond their end', () => {
    const whole = batchOf([plain, plain]);
    for (let at = 61; at < whole.length; at++) {
      const broken = Buffer.from(whole);
      broken[at]! ^= 0xff;
      try {
        for (const { records } of readRecordBatches(broken)) for (const { key, value } of records) void [key, value];
      } catch (error) {
        expect((error as Error).message).toContain('Cannot read a record batch');
      }
    }
  });

  it('of another record format, an unknown compression or no room for a header are refused with the reason', () => {
    const broken = (change: (batch: Buffer) => void) => {
      const batch = batchOf([plain]);
      change(batch);
      return () => readRecordBatches(batch);
    };
    expect(broken((batch) => batch.writeInt8(1, 16))).toThrow('its record format is 1, want 2');
    expect(broken((batch) => batch.writeInt16BE(7, 21))).toThrow('compression has the unknown number 7');
    expect(broken((batch) => batch.writeInt32BE(10, 8))).toThrow('shorter than its header');
    expect(broken((batch) => batch.writeInt32BE(3, 57))).toThrow('a record ends elsewhere');
  });
});
