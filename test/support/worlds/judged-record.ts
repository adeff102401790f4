import { whyBad } from '../../../projector/intake/validator.ts';
import { decoderFor, decodeWith, encodeValue, isNeeded, type Needs, ownDecoder } from '../../../schemas/avro/codec.ts';
import type { UndecodableReason } from '../../../schemas/avro/undecodable.ts';
import type { WriterSchemas } from '../../../schemas/avro/writer-schemas.ts';
import type { AnyRecord, TopicName } from '../../../schemas/events/records.ts';

/** A value decoded with its texts, or why it is bad, or the schema that must first be looked up. */
export function decodeValue(
  topic: TopicName,
  bytes: Buffer,
  writers: WriterSchemas,
): { value: AnyRecord } | { bad: UndecodableReason } | Needs {
  const decoder = decoderFor(topic, bytes, writers);
  // Only an archive has tombstones as values.
  return isNeeded(decoder) ? decoder : (decodeWith(decoder, bytes) as { value: AnyRecord });
}

/** Why a decoded record is bad, or null. */
export function badRecord(topic: TopicName, key: string, value: AnyRecord | null): string | null {
  const valueBytes = value && encodeValue(topic, value as never);
  return whyBad({ topic, keyBytes: Buffer.from(key), valueBytes, decoder: ownDecoder(topic) });
}
