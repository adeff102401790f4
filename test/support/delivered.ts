import { kafkaLogRecord } from '../../infra/kafka/kafka-log-record.ts';
import type { AnyLogRecord } from '../../projector/ports/event-log.ts';
import { encodeValue } from '../../schemas/avro/codec.ts';
import { WriterSchemas } from '../../schemas/avro/writer-schemas.ts';
import { type HistoryRecord, toLogRecord } from './histories.ts';

const writers = new WriterSchemas();

/** The record as Kafka's log delivers it: answers and relations as bytes; decoded where it can't be encoded. */
export function toDelivered(record: HistoryRecord): AnyLogRecord {
  const { topic, partition, offset, timestampMs, key } = record;
  if ((topic !== 'attendance' && topic !== 'relations') || record.value === null) return toLogRecord(record);
  let value: Buffer;
  try {
    value = encodeValue(topic, record.value as never);
  } catch {
    return toLogRecord(record);
  }
  const fetched = { offset, timestampMs, key: Buffer.from(key), value, headers: [] };
  return kafkaLogRecord(topic, partition, fetched, writers) as AnyLogRecord;
}
