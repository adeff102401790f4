import { hash } from 'node:crypto';
import type { LogRecord, UndecodableRecord } from '../../../projector/ports/decoded-record.ts';
import type { RecordHeader } from '../../../projector/ports/event-log.ts';
import { archivedTypes } from '../../../schemas/avro/avro-types.ts';
import { encoded } from '../../../schemas/avro/codec.ts';
import { fingerprintOf } from '../../../schemas/avro/single-object.ts';
import { type Long, longInJson, longOf } from '../../../schemas/events/instants.ts';
import type { AnyRecord, TopicName } from '../../../schemas/events/records.ts';
import type { ManifestFile, ManifestPartition } from './archive-manifest.ts';

export interface ArchiveRecord {
  partition: number;
  /** Higher than any before in its partition. Offsets may skip numbers. */
  offset: number;
  timestampMs: Long;
  key: string;
  value: AnyRecord | null;
  headers?: readonly RecordHeader[];
  /** The value as it came, if `value` does not hold all of it. */
  rawValue?: Buffer | null;
}

const none: readonly RecordHeader[] = [];

/** A record as our archives store it. Valid until something else is encoded. */
export function encodeArchived(topic: TopicName, record: ArchiveRecord): Buffer {
  const { partition, offset, timestampMs: timestamp, key, value, headers = none, rawValue: raw = null } = record;
  return encoded(archivedTypes[topic], { partition, offset, timestamp, key, value, headers, raw });
}

/** A record that cannot be decoded: its value as it came, its key byte by byte. */
function withoutValue(record: UndecodableRecord): ArchiveRecord {
  const { partition, offset, timestampMs, headers = none } = record;
  const { key, value } = record.raw();
  return { partition, offset, timestampMs, key: key?.toString('latin1') ?? '', value: null, headers, rawValue: value };
}

/** A record's place and time. */
interface RecordPlace {
  offset: number;
  timestampMs: Long;
}

/** What a partition of an archive contains, in the manifest's terms. Updated while records are read or written. */
export class PartitionLedger {
  readonly #topic: TopicName;
  records = 0;
  first: RecordPlace | null = null;
  last: RecordPlace | null = null;
  /** The next offset to save. It is beyond the last record if bad records followed that. */
  nextOffset: number | null = null;
  #hash = new PartitionHash('');

  constructor(topic: TopicName) {
    this.#topic = topic;
  }

  /** From the manifest's entry, to go on from there. */
  static of(topic: TopicName, said: ManifestPartition): PartitionLedger {
    const ledger = new PartitionLedger(topic);
    ledger.records = said.records;
    ledger.nextOffset = said.next_offset;
    if (said.last_offset !== null) {
      ledger.first = { offset: said.first_offset!, timestampMs: longOf(BigInt(said.first_timestamp!)) };
      ledger.last = { offset: said.last_offset, timestampMs: longOf(BigInt(said.last_timestamp!)) };
    }
    ledger.#hash = new PartitionHash(said.hash);
    return ledger;
  }

  /** Adds a record, encoded as our archives store it. */
  add({ offset, timestampMs }: RecordPlace, bytes: Uint8Array): void {
    this.records++;
    this.first ??= { offset, timestampMs };
    this.last = { offset, timestampMs };
    this.nextOffset = offset + 1;
    this.#hash.add(bytes);
  }

  /** Adds a record that was read: the same bytes whatever tool wrote the file. */
  addRead(record: LogRecord | UndecodableRecord): void {
    this.add(record, encodeArchived(this.#topic, 'key' in record ? record : withoutValue(record)));
  }

  summary(): Omit<ManifestPartition, 'files' | 'partition'> {
    return {
      records: this.records,
      first_offset: this.first?.offset ?? null,
      last_offset: this.last?.offset ?? null,
      next_offset: this.nextOffset,
      first_timestamp: this.first && longInJson(this.first.timestampMs),
      last_timestamp: this.last && longInJson(this.last.timestampMs),
      hash: this.#hash.digest(),
    };
  }
}

/** What a partition contains, and its files' manifest entries. */
export interface KnownPartition {
  ledger: PartitionLedger;
  files: ManifestFile[];
}

/** The schema of `Archived` by which a topic's records are hashed. Hashes by different schemas cannot be compared. */
export const hashSchemaOf = (topic: TopicName): string =>
  fingerprintOf(archivedTypes[topic]).toString(16).padStart(16, '0');

const hashBytes = 32;

/**
 * One hash over a partition's records, however they are divided into files (docs/rules.md#archive-manifest): the
 * SHA-256 of the hash before a record and the record, as `Archived` in Avro's binary encoding. Nothing is before the
 * first.
 */
class PartitionHash {
  /** The hash so far, with room for a record behind it. Empty: there is no record. */
  #chain: Buffer;
  #length: number;

  constructor(hex: string) {
    this.#chain = Buffer.from(hex, 'hex');
    this.#length = this.#chain.length;
  }

  add(record: Uint8Array): void {
    const length = this.#length + record.length;
    if (this.#chain.length < hashBytes + record.length) this.#chain = this.#roomFor(record.length);
    this.#chain.set(record, this.#length);
    // As a text: Node takes twice as long to make a Buffer of it.
    this.#chain.write(hash('sha256', this.#chain.subarray(0, length), 'hex'), 'hex');
    this.#length = hashBytes;
  }

  /** Empty if there is no record. */
  digest(): string {
    return this.#chain.toString('hex', 0, this.#length);
  }

  #roomFor(bytes: number): Buffer {
    const chain = Buffer.allocUnsafe(hashBytes + 2 * bytes);
    this.#chain.copy(chain, 0, 0, this.#length);
    return chain;
  }
}
