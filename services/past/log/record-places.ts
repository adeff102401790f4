import type { RecordInTime } from '../../../infra/archive/log/records-in-time.ts';
import { foreignText } from '../../../projector/running/foreign-text.ts';
import { decodeKey, decodeWith } from '../../../schemas/avro/codec.ts';
import { instantText } from '../../cli/instant-texts.ts';

/** A record's place and time, without its content. */
export function placeOf({ encoded }: RecordInTime) {
  const { topic, partition, offset, timestampMs, keyBytes, valueBytes, decoder } = encoded!;
  const key = decodeKey(keyBytes);
  const read = valueBytes === null ? null : decodeWith(decoder!, valueBytes);
  const value = read && 'value' in read ? read.value : null;
  return {
    topic,
    partition,
    offset,
    /** Null if it is not UTF-8: then the record is bad. */
    key: 'key' in key ? key.key : null,
    timestamp: instantText(timestampMs),
    changed_at: value && instantText(value.changed_at),
    /** The entity is gone. */
    tombstone: value === null,
  };
}

export function placeText(record: RecordInTime): string {
  const { topic, partition, offset, key, tombstone } = placeOf(record);
  return `${topic}/${partition}@${offset} ${foreignText(`${key}`)}${tombstone ? ' (deleted)' : ''}`;
}
