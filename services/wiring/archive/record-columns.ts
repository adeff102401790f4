import { hash } from 'node:crypto';
import type { PublishedRecord } from '../../../projector/ports/log-publisher.ts';
import { murmur2 } from '../../../schemas/events/partitioner.ts';

/** A 53-bit hash to tell keys apart. A cryptographic hash would take ten times as long. */
export function keyDigest(key: Uint8Array): number {
  let fnv = 0x811c9dc5;
  for (let i = 0; i < key.length; i++) fnv = Math.imul(fnv ^ key[i]!, 0x01000193);
  return (murmur2(key) >>> 0) * 0x200000 + (fnv & 0x1fffff);
}

/** A 48-bit hash of a record's content: key, value, timestamp and headers. */
function recordDigest({ key, value, timestampMs, headers = [] }: PublishedRecord): number {
  const parts: Buffer[] = [Buffer.from(`${timestampMs} ${headers.length}`), ...sized(key), ...sized(value)];
  for (const header of headers) parts.push(...sized(header.key), ...sized(header.value));
  return hash('sha1', Buffer.concat(parts), 'buffer').readUIntBE(0, 6);
}

/** With its length in front, so that the end of one part is not mistaken for the beginning of another. */
function sized(part: Buffer | string | null): Buffer[] {
  if (part === null) return [Buffer.from('-')];
  const bytes = Buffer.from(part);
  return [Buffer.from(`${bytes.length}:`), bytes];
}

/** Records of one partition, column by column, because there may be millions. */
export class RecordColumns {
  readonly records: number[] = [];
  readonly keys: number[] = [];
  readonly times: number[] = [];
  readonly tombstones: boolean[] = [];

  get length(): number {
    return this.records.length;
  }

  /** The digest of a record that compaction has removed. */
  static readonly gone = -1;

  add(record: PublishedRecord): void {
    this.records.push(recordDigest(record));
    this.keys.push(keyDigest(Buffer.from(record.key ?? '')));
    this.times.push(record.timestampMs);
    this.tombstones.push(record.value === null);
  }

  addGone(count: number): void {
    for (let i = 0; i < count; i++) {
      this.records.push(RecordColumns.gone);
      this.keys.push(RecordColumns.gone);
      this.times.push(0);
      this.tombstones.push(false);
    }
  }
}
