import { decodeKey, decodeWith } from '../../schemas/avro/codec.ts';
import { keylessReason, type UndecodableReason } from '../../schemas/avro/undecodable.ts';
import type { AnyRecord } from '../../schemas/events/records.ts';
import type { EncodedRecord } from './event-log.ts';

/** What a record has whether or not it could be decoded. */
type Placed = Pick<EncodedRecord, 'topic' | 'partition' | 'offset' | 'timestampMs' | 'headers' | 'raw'>;

/** A decoded record, for callers that keep or show its key and value. It may be bad for other reasons. */
export interface LogRecord extends Placed, Pick<EncodedRecord, 'rawValue'> {
  key: string;
  /** Null is a tombstone. */
  value: AnyRecord | null;
}

/** A record that could not be decoded: no key, a key that is not UTF-8, bytes that are not our Avro, and so on. */
export interface UndecodableRecord extends Placed {
  undecodable: UndecodableReason;
}

/** Decodes a record with all its texts, e.g. to `{ topic: 'riders', offset: 7, key: 'r1', value: { rider: 'r1', … }, … }`. */
export function decoded(record: EncodedRecord): LogRecord | UndecodableRecord {
  const { topic, partition, offset, timestampMs, headers = [], rawValue = null } = record;
  const place = { topic, partition, offset, timestampMs, headers, raw: () => record.raw() };
  if (record.keyBytes === null) return { ...place, undecodable: keylessReason(record.decoder) };
  const key = decodeKey(record.keyBytes);
  if ('bad' in key) return { ...place, undecodable: key.bad };
  const read = record.valueBytes === null ? { value: null } : decodeWith(record.decoder!, record.valueBytes);
  if ('bad' in read) return { ...place, undecodable: read.bad };
  return { ...place, key: key.key, value: read.value, rawValue };
}
