import { createHash, type Hash } from 'node:crypto';
import type { LogRecord, UndecodableRecord } from '../../projector/ports/decoded-record.ts';
import { archivedTypes } from '../../schemas/avro/avro-types.ts';
import { canonicalForm, crc64Avro } from '../../schemas/avro/single-object.ts';
import type { TopicName } from '../../schemas/events/records.ts';
import type { ManifestPartition } from './archive-manifest.ts';
import { encodeArchived } from './archived-bytes.ts';

/** A record's place and time. */
interface Mark {
  offset: number;
  timestampMs: number;
}

/** What a partition of an archive contains, in the manifest's terms. Updated while records are read or written. */
export class PartitionLedger {
  readonly #topic: TopicName;
  records = 0;
  first: Mark | null = null;
  last: Mark | null = null;
  /** The last record's key. Null if it was not read or is not UTF-8. */
  lastKey: string | null = null;
  /** The next offset to save. It is beyond the last record if bad records followed that. */
  nextOffset: number | null = null;
  #hash = new PartitionHash();

  constructor(topic: TopicName) {
    this.#topic = topic;
  }

  /** From the manifest's entry. The hash must be continued by `rehash`, with the records from `hashFrom` on. */
  static of(topic: TopicName, said: ManifestPartition): PartitionLedger {
    const ledger = new PartitionLedger(topic);
    ledger.records = said.records;
    ledger.nextOffset = said.next_offset;
    if (said.last_offset !== null) {
      ledger.first = { offset: said.first_offset!, timestampMs: said.first_timestamp! };
      ledger.last = { offset: said.last_offset, timestampMs: said.last_timestamp! };
    }
    ledger.#hash = new PartitionHash(said.hash_start.chain);
    return ledger;
  }

  /** Adds a record that was just encoded. `bytes` may not change until `settle`. */
  add(mark: Mark, key: string | null, bytes: Buffer, start: number, end: number): void {
    const { offset, timestampMs } = mark;
    this.records++;
    this.first ??= { offset, timestampMs };
    this.last = { offset, timestampMs };
    this.lastKey = key;
    this.nextOffset = Math.max(this.nextOffset ?? 0, offset + 1);
    this.#hash.add(offset, bytes, start, end);
  }

  /** Adds a record that was read. */
  addRead(record: LogRecord | UndecodableRecord): void {
    const bytes = encodeArchived(this.#topic, record);
    this.add(record, keyOf(record), bytes, 0, bytes.length);
    this.settle();
  }

  /** Adds a record to the hash only. The rest of the ledger includes it already. */
  rehash(record: LogRecord | UndecodableRecord): void {
    const bytes = encodeArchived(this.#topic, record);
    this.lastKey = keyOf(record);
    this.#hash.add(record.offset, bytes, 0, bytes.length);
    this.settle();
  }

  settle(): void {
    this.#hash.settle();
  }

  summary(): Omit<ManifestPartition, 'files' | 'partition'> {
    return {
      records: this.records,
      first_offset: this.first?.offset ?? null,
      last_offset: this.last?.offset ?? null,
      next_offset: this.nextOffset,
      first_timestamp: this.first?.timestampMs ?? null,
      last_timestamp: this.last?.timestampMs ?? null,
      hash: this.#hash.digest(),
      hash_start: this.#hash.start(),
    };
  }
}

const keyOf = (record: LogRecord | UndecodableRecord): string | null => ('key' in record ? record.key : null);

/** The schema of `Archived` by which a topic's records are hashed. Hashes by different schemas cannot be compared. */
export function hashSchemaOf(topic: TopicName): string {
  return crc64Avro(Buffer.from(canonicalForm(archivedTypes[topic])))
    .toString(16)
    .padStart(16, '0');
}

/** To continue a hash, at most the records of this many offsets are read. */
const chunkOffsets = 65_536;

/**
 * One hash over a partition's records, however they are divided into files (docs/rules.md#archive-manifest). Records
 * whose offset divided by 65,536 gives the same whole number are a chunk. The hash is the SHA-256 of: the hash before
 * the chunk, as lower-case hexadecimal (nothing before the first), and the chunk's records, each as `Archived` in
 * Avro's binary encoding.
 */
export class PartitionHash {
  #chain: string;
  #chunk = -1;
  #hash: Hash | null = null;
  /** Adjacent bytes that are not hashed yet. One long update is faster than many short ones. */
  #row: Buffer | null = null;
  #rowStart = 0;
  #rowEnd = 0;

  /** `chain`: continues from the start of a chunk, which `start` gave. */
  constructor(chain = '') {
    this.#chain = chain;
  }

  /** Adds a record: `bytes` from `start` to `end`, which must not change until `settle`. */
  add(offset: number, bytes: Buffer, start: number, end: number): void {
    const chunk = Math.floor(offset / chunkOffsets);
    if (chunk !== this.#chunk) this.#begin(chunk);
    if (bytes !== this.#row || start !== this.#rowEnd) {
      this.settle();
      this.#row = bytes;
      this.#rowStart = start;
    }
    this.#rowEnd = end;
  }

  settle(): void {
    if (this.#row) this.#hash!.update(this.#row.subarray(this.#rowStart, this.#rowEnd));
    this.#row = null;
  }

  /** Empty if there is no record. */
  digest(): string {
    this.settle();
    return this.#hash ? this.#hash.copy().digest('hex') : this.#chain;
  }

  /** Where it can be continued: the hash before the records from an offset on. */
  start(): { chain: string; from_offset: number } {
    return { chain: this.#chain, from_offset: Math.max(0, this.#chunk) * chunkOffsets };
  }

  #begin(chunk: number): void {
    this.#chain = this.digest();
    this.#hash = createHash('sha256').update(this.#chain);
    this.#chunk = chunk;
  }
}
