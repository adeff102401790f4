import { encodeValue, readerFor } from '../../schemas/avro/codec.ts';
import { WriterSchemas } from '../../schemas/avro/writer-schemas.ts';
import type { AnyRecord, TopicName } from '../../schemas/events/records.ts';
import { type BadReason, Validator } from './validator.ts';

const writers = new WriterSchemas();
const validator = new Validator();

/** Why a decoded record is bad, or null: for callers that have no bytes any more. It is encoded, and validated as those are. */
export function badRecord(topic: TopicName, key: string, value: AnyRecord | null): BadReason | null {
  const valueBytes = value && encodeValue(topic, value as never);
  // Our own schemas are always known.
  const reader = valueBytes && (readerFor(topic, valueBytes, writers) as Exclude<ReturnType<typeof readerFor>, number>);
  return validator.validate({ topic, keyBytes: Buffer.from(key), valueBytes, reader });
}
