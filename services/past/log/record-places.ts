import type { RecordInTime } from '../../../infra/archive/log/records-in-time.ts';
import { foreignText } from '../../../projector/running/foreign-text.ts';
import { decodeKey, decodeWith } from '../../../schemas/avro/codec.ts';
import type { AnyRecord } from '../../../schemas/events/records.ts';
import { instantText } from '../../cli/instant-texts.ts';

type Encoded = NonNullable<RecordInTime['encoded']>;

/** The key. Null if it is not UTF-8: then the record is bad. */
function keyIn({ keyBytes }: Encoded): string | null {
  const key = decodeKey(keyBytes);
  return 'key' in key ? key.key : null;
}

/** The value, decoded with all its texts. Null for a tombstone, and for a value that cannot be decoded. */
function valueIn({ valueBytes, decoder }: Encoded): AnyRecord | null {
  const read = valueBytes === null ? null : decodeWith(decoder!, valueBytes);
  return read && 'value' in read ? read.value : null;
}

/** A record's place and time, without its content. */
export function placeOf({ encoded }: RecordInTime) {
  const { topic, partition, offset, timestampMs } = encoded!;
  const value = valueIn(encoded!);
  return {
    topic,
    partition,
    offset,
    key: keyIn(encoded!),
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
