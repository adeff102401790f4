import { crc32c } from '@platformatic/kafka';
import type { RecordHeader } from '../../../projector/ports/event-log.ts';
import { Cursor } from '../../../schemas/avro/avro-cursor.ts';
import type { BatchFault } from '../../../schemas/avro/undecodable.ts';
import { type Long, longOf } from '../../../schemas/events/instants.ts';
import { codecNames, decompress, TooLargeError } from './decompress.ts';

/**
 * Record batches as Kafka stores them (record format 2), read in place: a record is numbers until somebody asks for its
 * key or value. The client library makes several objects and a BigInt of each record, which took longer than folding it.
 */

/** A batch that unpacks to more is bad as a whole (docs/rules.md#bad-batches). */
export const batchBytesMax = 64 << 20;
/** A record with more headers is bad (docs/rules.md#bad-batches): two bytes in a batch are 200 in memory. */
export const batchLimits = { bytesMax: batchBytesMax, headersMax: 1_000 };
/** Records that are handed on together. There may be millions in one batch. */
const pieceRecords = 1_000;
/** A piece ends after the batch with which its batches unpack to this many bytes. */
const pieceBytes = 1 << 20;

/** A fetched record. Its buffers are slices of the whole response: copy what is to be kept. */
export interface FetchedRecord {
  readonly offset: number;
  readonly timestampMs: Long;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: readonly RecordHeader[];
  /** Set if this stands for the rest of a batch that cannot be unpacked. `value` is then the whole batch as it came. */
  readonly fault?: BatchFault;
}

/** A batch's header. Its records are unpacked by `BatchReading`. */
export interface RecordBatch {
  firstOffset: number;
  /** By its header: compaction may have removed the last records. */
  lastOffset: number;
  /** What its records' timestamps count from: mostly the first one's. */
  timestampMs: Long;
  leaderEpoch: number;
  attributes: number;
  producerId: bigint;
  /** The whole batch, as Kafka stores it. */
  bytes: Buffer;
}

// Bytes from a batch's start: its length, which counts from here on; and fields of its header.
const headLength = 12;
const epochAt = 12;
const formatAt = 16;
const crcAt = 17;
const attributesAt = 21;
const lastOffsetDeltaAt = 23;
const firstTimestampAt = 27;
const maxTimestampAt = 35;
const producerIdAt = 43;
const countAt = 57;
const recordsAt = 61;

const recordFormat = 2;
const compressionBits = 7;
const timestampTypeBit = 1 << 3;

/** The batches of a fetch response, whose last one may be cut off. Throws if one is not as its producer sent it. */
export function readRecordBatches(bytes: Buffer): RecordBatch[] {
  const batches: RecordBatch[] = [];
  let start = 0;
  while (start + headLength <= bytes.length) {
    const end = start + headLength + bytes.readInt32BE(start + headLength - 4);
    if (end > bytes.length) break;
    if (end < start + recordsAt) throw new Error('Cannot read a record batch: it is shorter than its header');
    batches.push(readBatch(bytes.subarray(start, end)));
    start = end;
  }
  return batches;
}

function readBatch(bytes: Buffer): RecordBatch {
  const format = bytes[formatAt]!;
  if (format !== recordFormat)
    throw new Error(`Cannot read a record batch: its record format is ${format}, want ${recordFormat}`);
  // It throws, to be fetched again: a wrong checksum comes from a disk or a network, not from the producer.
  if (bytes.readUInt32BE(crcAt) !== crc32c(bytes.subarray(attributesAt)))
    throw new Error('Cannot read a record batch: its checksum is wrong');
  const attributes = bytes.readInt16BE(attributesAt);
  const firstOffset = Number(bytes.readBigInt64BE(0));
  return {
    firstOffset,
    lastOffset: firstOffset + bytes.readInt32BE(lastOffsetDeltaAt),
    timestampMs: longOf(bytes.readBigInt64BE(isAppendTime(attributes) ? maxTimestampAt : firstTimestampAt)),
    leaderEpoch: bytes.readInt32BE(epochAt),
    attributes,
    producerId: bytes.readBigInt64BE(producerIdAt),
    bytes,
  };
}

/** message.timestamp.type=LogAppendTime: the broker's time, one for the whole batch. */
const isAppendTime = (attributes: number): boolean => (attributes & timestampTypeBit) !== 0;

/** Records of one partition that are handed on together. */
export interface Piece {
  records: FetchedRecord[];
  nextOffset: number;
}

/**
 * The records from offset `from` on, some at a time. A batch is unpacked when its records are due, because a fetch of 1 MB
 * may hold many GB. `end`: the offset after the last batch.
 */
export function* recordPieces(
  batches: readonly RecordBatch[],
  from: number,
  end: number,
  limits = batchLimits,
): Generator<Piece> {
  let records: FetchedRecord[] = [];
  let unpackedBytes = 0;
  for (const batch of batches) {
    // `from` has moved into a fetch where its handler waited, as at each bad record: what was done by then is not unpacked again.
    if (batch.lastOffset < from) continue;
    const reading = new BatchReading(batch, limits);
    unpackedBytes += reading.unpackedBytes;
    for (let record = reading.next(); record; record = reading.next()) {
      // Fetches return whole batches, so the first one may begin before the requested offset.
      if (record.offset < from || records.push(record) < pieceRecords) continue;
      yield { records, nextOffset: record.fault ? batch.lastOffset + 1 : record.offset + 1 };
      records = [];
      unpackedBytes = reading.unpackedBytes;
    }
    if (unpackedBytes < pieceBytes || records.length === 0) continue;
    yield { records, nextOffset: batch.lastOffset + 1 };
    records = [];
    unpackedBytes = 0;
  }
  yield { records, nextOffset: end };
}

const none: readonly RecordHeader[] = [];

/**
 * Headers of a record that stands for records of a bad batch (docs/rules.md#bad-batches): the last one's offset, and the
 * codec's name, as text. The first one is at the record's own offset.
 */
export const batchHeaders = { lastOffset: 'ride-calendar.last-offset', codec: 'ride-calendar.codec' } as const;

/** Unpacks a batch, and reads its records in order. Never throws: at bytes that are wrong, a bad record ends it. */
export class BatchReading {
  readonly #batch: RecordBatch;
  #bytes: Buffer = Buffer.alloc(0);
  #at = 0;
  #left: number;
  readonly #headersMax: number;
  #fault: BatchFault | null = null;
  /** The offset of the bad record, if that comes next. */
  #nextOffset: number;

  constructor(batch: RecordBatch, limits = batchLimits) {
    const { attributes, bytes, firstOffset } = batch;
    this.#batch = batch;
    this.#headersMax = limits.headersMax;
    this.#nextOffset = firstOffset;
    this.#left = bytes.readInt32BE(countAt);
    try {
      this.#bytes = decompress(attributes & compressionBits, bytes.subarray(recordsAt), limits.bytesMax);
    } catch (error) {
      this.#fault = error instanceof TooLargeError ? 'batch too large' : 'unreadable batch';
    }
  }

  get unpackedBytes(): number {
    return this.#bytes.length;
  }

  /** Null after the last record. */
  next(): FetchedRecord | null {
    if (this.#fault !== null) return this.#badBatch(this.#fault);
    if (this.#left <= 0) return null;
    this.#left -= 1;
    try {
      const record = this.#record();
      this.#nextOffset = record.offset + 1;
      return record;
    } catch {
      return this.#badBatch('unreadable batch');
    }
  }

  /** Stands for the rest of the batch. Nothing is read after it. */
  #badBatch(fault: BatchFault): FetchedRecord {
    const { lastOffset, timestampMs, attributes, bytes } = this.#batch;
    this.#fault = null;
    this.#left = 0;
    const codec = attributes & compressionBits;
    const headers = [
      { key: batchHeaders.lastOffset, value: Buffer.from(String(lastOffset)) },
      { key: batchHeaders.codec, value: Buffer.from(codecNames[codec] ?? String(codec)) },
    ];
    return { offset: this.#nextOffset, timestampMs, key: null, value: bytes, headers, fault };
  }

  // length, attributes, timestampDelta, offsetDelta, key, value, headers
  #record(): FetchedRecord {
    const { firstOffset, timestampMs: firstMs, attributes } = this.#batch;
    const length = this.#varint();
    const end = this.#at + length;
    if (length < 0 || end > this.#bytes.length) throw cutOff();
    this.#at += 1;
    const timestampMs = this.#timestamp(firstMs);
    const offset = firstOffset + this.#varint();
    const key = this.#text();
    const value = this.#text();
    const headers = this.#headers();
    if (this.#at !== end) throw cutOff();
    return { offset, timestampMs: isAppendTime(attributes) ? firstMs : timestampMs, key, value, headers };
  }

  /** Any 64 bits: sums beyond them wrap round, as in Kafka. */
  #timestamp(firstMs: Long): Long {
    const start = this.#at;
    const delta = this.#varint();
    const ms = Number(firstMs) + delta;
    if (typeof firstMs === 'number' && Math.abs(delta) < varintExactBelow && Number.isSafeInteger(ms)) return ms;
    return longOf(BigInt.asIntN(64, BigInt(firstMs) + BigInt(exact.set(this.#bytes, start).long64())));
  }

  #headers(): readonly RecordHeader[] {
    const count = this.#varint();
    if (count === 0) return none;
    if (count > this.#headersMax) throw new Error('Cannot read a record batch: a record has too many headers');
    const headers: RecordHeader[] = [];
    for (let i = 0; i < count; i++) headers.push({ key: String(this.#text() ?? ''), value: this.#text() });
    return headers;
  }

  #text(): Buffer | null {
    const length = this.#varint();
    if (length < 0) return null;
    const at = this.#at;
    this.#at += length;
    if (this.#at > this.#bytes.length) throw cutOff();
    return this.#bytes.subarray(at, this.#at);
  }

  /** Zigzag, of up to 64 bits. From `varintExactBelow` on it is not exact: no length and no offset is so large. */
  #varint(): number {
    const first = this.#bytes[this.#at++]!;
    if (first < 0x80) return (first >>> 1) ^ -(first & 1);
    let number = first & 0x7f;
    for (let place = 0x80; ; place *= 0x80) {
      const byte = this.#bytes[this.#at++];
      if (byte === undefined || place > 2 ** 63) throw cutOff();
      number += (byte & 0x7f) * place;
      if (byte < 0x80) break;
    }
    return number % 2 === 0 ? number / 2 : -(number + 1) / 2;
  }
}

/** A zigzag number from here on has more than 53 bits: as a number it may be another, of the other sign. */
const varintExactBelow = 2 ** 52;
/** Avro's numbers are written as Kafka's. */
const exact = new Cursor();

const cutOff = (): Error => new Error('Cannot read a record batch: a record ends elsewhere than its length says');
