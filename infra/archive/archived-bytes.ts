import type { LogRecord, UndecodableRecord } from '../../projector/ports/decoded-record.ts';
import type { RecordHeader } from '../../projector/ports/event-log.ts';
import { archivedTypes } from '../../schemas/avro/avro-types.ts';
import type { AnyRecord, TopicName } from '../../schemas/events/records.ts';

export interface ArchiveRecord {
  partition: number;
  /** Higher than any before in its partition. Offsets may skip numbers. */
  offset: number;
  /** Milliseconds since the epoch. */
  timestampMs: number;
  key: string;
  value: AnyRecord | null;
  headers?: readonly RecordHeader[];
  /** The value as it came, if `value` does not hold all of it. */
  rawValue?: Buffer | null;
}

const none: readonly RecordHeader[] = [];

/** A record in the shape of the archive's Avro type. */
export function archivedOf(record: ArchiveRecord): object {
  const { partition, offset, timestampMs: timestamp, key, value, headers = none, rawValue: raw = null } = record;
  return { partition, offset, timestamp, key, value, headers, raw };
}

/** A record that was read, as our archives store it: the same bytes whatever tool wrote the file. */
export function encodeArchived(topic: TopicName, record: LogRecord | UndecodableRecord): Buffer {
  return archivedTypes[topic].toBuffer(archivedOf('key' in record ? record : withoutValue(record)));
}

/** A record that cannot be decoded: its value as it came, its key byte by byte. */
function withoutValue(record: UndecodableRecord): ArchiveRecord {
  const { partition, offset, timestampMs, headers = none } = record;
  const { key, value } = record.raw();
  return { partition, offset, timestampMs, key: key?.toString('latin1') ?? '', value: null, headers, rawValue: value };
}
