import type {
  AnyLogRecord,
  EncodedRecord,
  LogRecord,
  RawRecord,
  RecordHeader,
  UndecodableRecord,
} from '../../projector/ports/event-log.ts';
import { decodeKey, readerFor, readValue } from '../../schemas/avro/codec.ts';
import type { TopicReader } from '../../schemas/avro/topic-reader.ts';
import type { WriterSchemas } from '../../schemas/avro/writer-schemas.ts';
import type { AnyRecord, TopicName } from '../../schemas/events/records.ts';
import type { FetchedRecord } from './kafka-record-batches.ts';

/** A fetched record as the log delivers it. A number is the id of a schema to look up first. */
export function kafkaLogRecord(
  topic: TopicName,
  partition: number,
  fetched: FetchedRecord,
  writers: WriterSchemas,
): AnyLogRecord | number {
  const { key, value } = fetched;
  const reader = value && readerFor(topic, value, writers);
  if (key && reader && typeof reader === 'object' && reader.place) {
    return new KafkaEncodedRecord(topic as 'attendance', partition, fetched, reader);
  }
  const decodedKey = decodeKey(key);
  if ('bad' in decodedKey) return undecodable(topic, partition, fetched, decodedKey.bad);
  if (value === null) return new KafkaLogRecord(topic, partition, decodedKey.key, null, fetched, true);
  if (typeof reader === 'number') return reader;
  if (typeof reader === 'string') return undecodable(topic, partition, fetched, reader);
  return decoded(topic, partition, fetched, decodedKey.key, reader!);
}

function decoded(
  topic: TopicName,
  partition: number,
  fetched: FetchedRecord,
  key: string,
  reader: TopicReader,
): LogRecord | UndecodableRecord {
  const read = readValue(reader, fetched.value!);
  if ('bad' in read) return undecodable(topic, partition, fetched, read.bad);
  return new KafkaLogRecord(topic, partition, key, read.value, fetched, reader.holdsAll);
}

/** Also for a record whose schema is never found. */
export function undecodable(
  topic: TopicName,
  partition: number,
  fetched: FetchedRecord,
  reason: string,
): UndecodableRecord {
  const { offset, timestampMs } = fetched;
  return {
    topic,
    partition,
    offset,
    timestampMs,
    undecodable: reason,
    get headers() {
      return headersOf(fetched);
    },
    raw: () => rawRecord(fetched),
  };
}

// There are millions of these. They are classes, so that they share one hidden class and their methods.

class KafkaEncodedRecord implements EncodedRecord {
  readonly topic: EncodedRecord['topic'];
  readonly partition: number;
  readonly reader: TopicReader;
  readonly #fetched: FetchedRecord;

  /** For a record with a key and a value. */
  constructor(topic: EncodedRecord['topic'], partition: number, fetched: FetchedRecord, reader: TopicReader) {
    this.topic = topic;
    this.partition = partition;
    this.reader = reader;
    this.#fetched = fetched;
  }

  get offset(): number {
    return this.#fetched.offset;
  }

  get timestampMs(): number {
    return this.#fetched.timestampMs;
  }

  get keyBytes(): Buffer {
    return this.#fetched.key!;
  }

  get valueBytes(): Buffer {
    return this.#fetched.value!;
  }

  decode(): LogRecord | UndecodableRecord {
    const { topic, partition } = this;
    const key = decodeKey(this.keyBytes);
    if ('bad' in key) return undecodable(topic, partition, this.#fetched, key.bad);
    return decoded(topic, partition, this.#fetched, key.key, this.reader);
  }

  raw(): RawRecord {
    return rawRecord(this.#fetched);
  }
}

class KafkaLogRecord implements LogRecord {
  readonly topic: TopicName;
  readonly partition: number;
  readonly offset: number;
  readonly timestampMs: number;
  readonly key: string;
  readonly value: AnyRecord | null;
  readonly #record: FetchedRecord;
  readonly #holdsAll: boolean;

  /** `holdsAll`: whether the decoded value has everything that the bytes have. */
  constructor(
    topic: TopicName,
    partition: number,
    key: string,
    value: AnyRecord | null,
    record: FetchedRecord,
    holdsAll: boolean,
  ) {
    this.topic = topic;
    this.partition = partition;
    this.offset = record.offset;
    this.timestampMs = record.timestampMs;
    this.key = key;
    this.value = value;
    this.#record = record;
    this.#holdsAll = holdsAll;
  }

  get headers(): readonly RecordHeader[] {
    return headersOf(this.#record);
  }

  get rawValue(): Buffer | null {
    return this.#holdsAll ? null : this.#record.value;
  }

  raw(): RawRecord {
    return rawRecord(this.#record);
  }
}

const none: readonly RecordHeader[] = [];

function headersOf({ headers }: FetchedRecord): readonly RecordHeader[] {
  return headers.length === 0 ? none : headers.map(([name, value]) => ({ key: String(name ?? ''), value }));
}

/**
 * Copies, because the record's buffers are slices of a whole response. If several headers have the same name, the last
 * one is kept.
 */
function rawRecord({ key, value, headers }: FetchedRecord): RawRecord {
  const named = headers.map(([name, content]) => [String(name ?? ''), Buffer.from(content ?? '')] as const);
  return { key: key && Buffer.from(key), value: value && Buffer.from(value), headers: Object.fromEntries(named) };
}
