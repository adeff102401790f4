import { type CompressionAlgorithmValue, crc32c, createRecordsBatch } from '@platformatic/kafka';
import {
  type FetchedRecord,
  type RecordBatch,
  readRecordBatches,
  recordPieces,
} from '../../../../infra/kafka/protocol/record-batch.ts';

export interface Message {
  key: Buffer | null;
  value: Buffer | null;
  timestamp?: bigint;
  headers?: Map<Buffer, Buffer>;
}

/** Bytes of a batch's header (record-batch.ts). */
export const attributesAt = 21;
export const countAt = 57;
export const recordsAt = 61;

/** As the client library writes a batch; the first offset is the broker's to set. */
export function batchOf(
  messages: readonly Message[],
  compression: CompressionAlgorithmValue = 'none',
  firstOffset = 0,
): Buffer {
  const made = messages.map((one) => ({ timestamp: 0n, headers: new Map(), ...one, topic: 't' })) as never;
  const { buffer } = createRecordsBatch(made, { compression });
  buffer.writeBigInt64BE(BigInt(firstOffset), 0);
  return buffer;
}

/** A batch as another producer might send it: its checksum is right. */
export function rewritten(batch: Buffer, change: (batch: Buffer) => void): Buffer {
  const other = Buffer.from(batch);
  change(other);
  other.writeUInt32BE(crc32c(other.subarray(attributesAt)), 17);
  return other;
}

/** A batch of any bytes in place of its records, which are `count`, as far as its header says. */
export function packedBatch(packed: Buffer, codec: number, count: number, firstOffset = 0): Buffer {
  const header = batchOf([{ key: null, value: null }], 'none', firstOffset).subarray(0, recordsAt);
  return rewritten(Buffer.concat([header, packed]), (batch) => {
    batch.writeInt32BE(batch.length - 12, 8);
    batch.writeInt16BE(codec, attributesAt);
    batch.writeInt32BE(count - 1, 23);
    batch.writeInt32BE(count, countAt);
  });
}

/** All records of a response. */
export const recordsIn = (bytes: Buffer, from = 0): FetchedRecord[] => recordsOf(readRecordBatches(bytes), from);

export const recordsOf = (batches: readonly RecordBatch[], from = 0): FetchedRecord[] =>
  [...recordPieces(batches, from, 0)].flatMap(({ records }) => records);
