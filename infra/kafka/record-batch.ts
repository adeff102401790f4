import { compressionsAlgorithmsByBitmask } from '@platformatic/kafka';

/**
 * Record batches as Kafka stores them (record format 2), read in place: a record is numbers until somebody asks for its
 * key or value. The client library makes several objects and a BigInt of each record, which took longer than folding it.
 */

/** A fetched record. Its buffers are slices of the whole response: copy what is to be kept. */
export interface FetchedRecord {
  readonly offset: number;
  readonly timestampMs: number;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: RecordHeaders;
}

type RecordHeaders = readonly (readonly [Buffer | null, Buffer | null])[];

export interface RecordBatch {
  firstOffset: number;
  /** By its header: compaction may have removed the last records. */
  lastOffset: number;
  leaderEpoch: number;
  attributes: number;
  producerId: bigint;
  records: FetchedRecord[];
}

// Bytes from a batch's start: its length, which counts from here on; and fields of its header.
const headLength = 12;
const epochAt = 12;
const formatAt = 16;
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

/** The batches of a fetch response. The last one may be cut off, which is no fault. Throws if one cannot be read. */
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
  if (format !== recordFormat) {
    throw new Error(`Cannot read a record batch: its record format is ${format}, want ${recordFormat}`);
  }
  const attributes = bytes.readInt16BE(attributesAt);
  const firstOffset = Number(bytes.readBigInt64BE(0));
  const data = decompressed(attributes & compressionBits, bytes.subarray(recordsAt));
  // message.timestamp.type=LogAppendTime: the broker's time, one for the whole batch.
  const appendTimeMs = attributes & timestampTypeBit ? Number(bytes.readBigInt64BE(maxTimestampAt)) : null;
  const reading = new RecordReading(data, firstOffset, Number(bytes.readBigInt64BE(firstTimestampAt)), appendTimeMs);
  return {
    firstOffset,
    lastOffset: firstOffset + bytes.readInt32BE(lastOffsetDeltaAt),
    leaderEpoch: bytes.readInt32BE(epochAt),
    attributes,
    producerId: bytes.readBigInt64BE(producerIdAt),
    records: reading.records(bytes.readInt32BE(countAt)),
  };
}

function decompressed(compression: number, bytes: Buffer): Buffer {
  if (compression === 0) return bytes;
  const algorithm = compressionsAlgorithmsByBitmask[compression];
  if (!algorithm) throw new Error(`Cannot read a record batch: its compression has the unknown number ${compression}`);
  return algorithm.decompressSync(bytes);
}

const none: RecordHeaders = [];

/** Where a record is in a batch's bytes. A length of -1 is no key or no value. */
class PlacedRecord implements FetchedRecord {
  readonly offset: number;
  readonly timestampMs: number;
  readonly headers: RecordHeaders;
  readonly #bytes: Buffer;
  readonly #keyAt: number;
  readonly #keyLength: number;
  readonly #valueAt: number;
  readonly #valueLength: number;

  constructor(
    bytes: Buffer,
    offset: number,
    timestampMs: number,
    keyAt: number,
    keyLength: number,
    valueAt: number,
    valueLength: number,
    headers: RecordHeaders,
  ) {
    this.#bytes = bytes;
    this.offset = offset;
    this.timestampMs = timestampMs;
    this.#keyAt = keyAt;
    this.#keyLength = keyLength;
    this.#valueAt = valueAt;
    this.#valueLength = valueLength;
    this.headers = headers;
  }

  get key(): Buffer | null {
    return this.#keyLength < 0 ? null : this.#bytes.subarray(this.#keyAt, this.#keyAt + this.#keyLength);
  }

  get value(): Buffer | null {
    return this.#valueLength < 0 ? null : this.#bytes.subarray(this.#valueAt, this.#valueAt + this.#valueLength);
  }
}

class RecordReading {
  readonly #bytes: Buffer;
  readonly #firstOffset: number;
  readonly #firstTimestampMs: number;
  readonly #appendTimeMs: number | null;
  #at = 0;

  constructor(bytes: Buffer, firstOffset: number, firstTimestampMs: number, appendTimeMs: number | null) {
    this.#bytes = bytes;
    this.#firstOffset = firstOffset;
    this.#firstTimestampMs = firstTimestampMs;
    this.#appendTimeMs = appendTimeMs;
  }

  records(count: number): FetchedRecord[] {
    const records: FetchedRecord[] = [];
    for (let i = 0; i < count; i++) records.push(this.#record());
    return records;
  }

  // length, attributes, timestampDelta, offsetDelta, key, value, headers
  #record(): FetchedRecord {
    const length = this.#varint();
    const end = this.#at + length;
    if (length < 0 || end > this.#bytes.length) throw cutOff();
    this.#at += 1;
    const timestampMs = this.#firstTimestampMs + this.#varint();
    const offset = this.#firstOffset + this.#varint();
    const keyLength = this.#varint();
    const keyAt = this.#skip(keyLength);
    const valueLength = this.#varint();
    const valueAt = this.#skip(valueLength);
    const headers = this.#headers();
    if (this.#at !== end) throw cutOff();
    const timeMs = this.#appendTimeMs ?? timestampMs;
    return new PlacedRecord(this.#bytes, offset, timeMs, keyAt, keyLength, valueAt, valueLength, headers);
  }

  #headers(): RecordHeaders {
    const count = this.#varint();
    if (count === 0) return none;
    const headers: [Buffer | null, Buffer | null][] = [];
    for (let i = 0; i < count; i++) headers.push([this.#text(), this.#text()]);
    return headers;
  }

  #text(): Buffer | null {
    const length = this.#varint();
    const at = this.#skip(length);
    return length < 0 ? null : this.#bytes.subarray(at, at + length);
  }

  /** Where the bytes that it skips begin. */
  #skip(length: number): number {
    const at = this.#at;
    if (length > 0) this.#at += length;
    if (this.#at > this.#bytes.length) throw cutOff();
    return at;
  }

  /** Zigzag, of up to 64 bits. Beyond 53 bits it is not exact: no length and no offset is so large. */
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

const cutOff = (): Error => new Error('Cannot read a record batch: a record ends elsewhere than its length says');
