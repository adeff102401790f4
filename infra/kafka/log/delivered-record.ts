import type { EncodedRecord, RawRecord, RecordHeader } from '../../../projector/ports/event-log.ts';
import { decodeKey, decoderFor, isNeeded } from '../../../schemas/avro/codec.ts';
import type { TopicDecoder } from '../../../schemas/avro/topic-decoder.ts';
import type { UndecodableReason } from '../../../schemas/avro/undecodable.ts';
import type { SchemaName, WriterSchemas } from '../../../schemas/avro/writer-schemas.ts';
import type { Long } from '../../../schemas/events/instants.ts';
import type { TopicName } from '../../../schemas/events/records.ts';
import type { FetchedRecord } from '../protocol/record-batch.ts';

/** A fetched record as the event log delivers it, or the name of a schema to look up first, if there is where to. */
export function deliveredRecord(
  topic: TopicName,
  partition: number,
  fetched: FetchedRecord,
  writers: WriterSchemas,
  hasSchemas: boolean,
): EncodedRecord | SchemaName {
  const decoder = fetched.fault ?? (fetched.value && decoderFor(topic, fetched.value, writers));
  if (!isNeeded(decoder)) return new DeliveredRecord(topic, partition, fetched, decoder);
  // A record with a bad key does not wait for its schema.
  if (hasSchemas && !('bad' in decodeKey(fetched.key))) return decoder.needs;
  return new DeliveredRecord(topic, partition, fetched, writers.whyUnknown(topic, decoder.needs));
}

/** There are millions of these. A class, so that they share one hidden class and their methods. */
class DeliveredRecord implements EncodedRecord {
  readonly topic: TopicName;
  readonly partition: number;
  readonly decoder: TopicDecoder | UndecodableReason | null;
  readonly #fetched: FetchedRecord;

  constructor(
    topic: TopicName,
    partition: number,
    fetched: FetchedRecord,
    decoder: TopicDecoder | UndecodableReason | null,
  ) {
    this.topic = topic;
    this.partition = partition;
    this.decoder = decoder;
    this.#fetched = fetched;
  }

  get offset(): number {
    return this.#fetched.offset;
  }

  get timestampMs(): Long {
    return this.#fetched.timestampMs;
  }

  get keyBytes(): Buffer | null {
    return this.#fetched.key;
  }

  get valueBytes(): Buffer | null {
    return this.#fetched.value;
  }

  get headers(): readonly RecordHeader[] {
    return this.#fetched.headers;
  }

  get rawValue(): Buffer | null {
    return typeof this.decoder === 'object' && this.decoder?.holdsAll === false ? this.#fetched.value : null;
  }

  raw(): RawRecord {
    return rawRecord(this.#fetched);
  }
}

/** Copies: a record's buffers are slices of a whole response. Of several headers of one name the last one is kept. */
function rawRecord({ key, value, headers }: FetchedRecord): RawRecord {
  const named = Object.fromEntries(headers.map((one) => [one.key, Buffer.from(one.value ?? '')]));
  return { key: key && Buffer.from(key), value: value && Buffer.from(value), headers: named };
}
