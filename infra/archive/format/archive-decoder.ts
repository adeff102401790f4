import type { Schema, Type, types } from 'avsc';
import type { EncodedRecord, RawRecord, RecordHeader } from '../../../projector/ports/event-log.ts';
import { Cursor } from '../../../schemas/avro/avro-cursor.ts';
import { archivedSchema, parseOurs, parseWriter, topicTypes } from '../../../schemas/avro/avro-types.ts';
import { decodeWith, encodeValue } from '../../../schemas/avro/codec.ts';
import { compileDecoder, type Decode } from '../../../schemas/avro/compile-decoder.ts';
import { singleObjectHeader } from '../../../schemas/avro/single-object.ts';
import { archivedDecoder, type TopicDecoder } from '../../../schemas/avro/topic-decoder.ts';
import { IncompatibleSchemaError, reasonOf, undecodable } from '../../../schemas/avro/undecodable.ts';
import type { Long } from '../../../schemas/events/instants.ts';
import type { TopicName } from '../../../schemas/events/records.ts';

/** An archived record. Its key is bytes, because it may not be UTF-8, and its value is not decoded yet. */
interface Archived {
  partition: number;
  offset: number;
  timestamp: Long;
  key: Buffer;
  /** The place of the value (Cursor.place). The value includes the index of its branch in the writer's union. */
  value: number;
  headers?: RecordHeader[];
  raw?: Buffer | null;
}

/** `Archived` as it is read here: the key and the value stay bytes. */
const archivedType = parseOurs(archivedSchema('bytes', 'bytes') as Schema);

const none: readonly RecordHeader[] = [];

const cursor = new Cursor();

class ArchivedRecord implements EncodedRecord {
  readonly topic: TopicName;
  readonly partition: number;
  readonly offset: number;
  readonly timestampMs: Long;
  readonly keyBytes: Buffer;
  readonly valueBytes: Buffer;
  readonly decoder: TopicDecoder;
  readonly headers: readonly RecordHeader[];
  readonly rawValue: Buffer | null;
  readonly #ofFile: ArchiveDecoder;

  constructor(archived: Archived, valueBytes: Buffer, ofFile: ArchiveDecoder) {
    this.topic = ofFile.topic;
    this.partition = archived.partition;
    this.offset = archived.offset;
    this.timestampMs = archived.timestamp;
    this.keyBytes = archived.key;
    this.valueBytes = valueBytes;
    this.decoder = ofFile.ofValues;
    this.headers = archived.headers ?? none;
    this.rawValue = archived.raw ?? null;
    this.#ofFile = ofFile;
  }

  raw(): RawRecord {
    return { key: this.keyBytes, value: this.rawValue ?? this.#value(), headers: byName(this.headers) };
  }

  /** In our schema. A value that cannot be decoded stays as it was written. */
  #value(): Buffer | null {
    if (this.#ofFile.isOurs) return this.#ofFile.asWritten(this.valueBytes);
    const read = decodeWith(this.decoder, this.valueBytes);
    if ('bad' in read) return this.#ofFile.asWritten(this.valueBytes);
    return read.value && encodeValue(this.topic, read.value);
  }
}

/** If several headers have the same name, the last one is kept. */
const byName = (headers: readonly RecordHeader[]): Record<string, Buffer> =>
  Object.fromEntries(headers.map(({ key, value }) => [key, value ?? Buffer.alloc(0)]));

/** All files together have few schemas. Each is compiled once. */
const decoders = new Map<string, ArchiveDecoder>();
const decodersMax = 200;

/** The decoder of a topic's files with this schema. Throws if the schema is not the topic's. */
export function archiveDecoder(topic: TopicName, schemaText: string): ArchiveDecoder {
  const key = `${topic} ${schemaText}`;
  let decoder = decoders.get(key);
  if (!decoder) {
    decoder = new ArchiveDecoder(topic, schemaText);
    if (decoders.size >= decodersMax) decoders.clear();
    decoders.set(key, decoder);
  }
  return decoder;
}

/** Decodes blocks of `Archived`, in the schema of the tool that wrote them (docs/rules.md#archived-record). */
class ArchiveDecoder {
  readonly topic: TopicName;
  readonly ofValues: TopicDecoder;
  /** Whether values were written with our schema. */
  readonly isOurs: boolean;
  readonly #isUnion: boolean;
  /** What stands before a value of each of its types, as a single object. Null for null. */
  readonly #headers: readonly (Buffer | null)[];
  readonly #decode: Decode<Archived>;

  constructor(topic: TopicName, schemaText: string) {
    try {
      const writer = parseWriter(schemaText) as types.RecordType;
      // Tools choose the record names in the files that they write.
      const options = { anyName: true, fieldInPlace: 'value' };
      this.#decode = compileDecoder<Archived>(writer, archivedType, options);
      this.topic = topic;
      const type = valueTypeOf(writer);
      checkValueType(topic, type);
      this.ofValues = archivedDecoder(topic, type);
      const branches = branchesOf(type);
      this.#isUnion = branches[0] !== type;
      this.#headers = branches.map((one) => (one.typeName === 'null' ? null : singleObjectHeader(one)));
      const ours = singleObjectHeader(topicTypes[topic]);
      this.isOurs = this.#headers.every((header) => header?.equals(ours) ?? true);
    } catch (error) {
      const what = error instanceof IncompatibleSchemaError ? `: ${error.message}` : '';
      const fix = `write it with record Archived {partition, offset, timestamp, key, value} of ${topic}`;
      throw new Error(`its schema is not that of an archive of ${topic}${what}; ${fix}`, {
        cause: error,
      });
    }
  }

  /** A block's records. Throws if the bytes do not say where the next record begins. */
  records(data: Buffer, count: number): EncodedRecord[] {
    const records: EncodedRecord[] = [];
    let pos = 0;
    for (let i = 0; i < count; i++) {
      const archived = this.#next(data, pos, i);
      const { places } = cursor;
      const value = data.subarray(places[archived.value], places[archived.value + 1]);
      records.push(new ArchivedRecord(archived, value, this));
      pos = cursor.pos;
    }
    if (pos !== data.length) throw new Error(`its block goes on after its ${count} records`);
    return records;
  }

  /** A value behind a single-object header of the writer's schema: whoever has that can decode it in `rejected`. */
  asWritten(value: Buffer): Buffer | null {
    const header = this.#headers[this.#isUnion ? cursor.set(value, 0).int() : 0];
    return header ? Buffer.concat([header, this.#isUnion ? value.subarray(cursor.pos) : value]) : null;
  }

  /** Finds where the next record begins even if this record's value is bad. */
  #next(data: Buffer, pos: number, index: number): Archived {
    try {
      const archived = this.#decode(cursor.set(data, pos).withMoreSteps());
      // A record's place in the log must be a safe integer. Its timestamp and its value may be or hold larger numbers.
      if (typeof archived.offset === 'bigint') throw outOfRange;
      return archived;
    } catch (error) {
      throw new Error(`record ${index + 1} of its block can not be read (${reasonOf(error)})`);
    }
  }
}

const outOfRange = undecodable('number out of range');

function valueTypeOf(writer: types.RecordType): Type {
  const field = writer.fields.find(({ name }) => name === 'value');
  if (!field) throw new IncompatibleSchemaError(`the writer's ${writer.name} has no "value"`, 0);
  return field.type;
}

const branchesOf = (type: Type): readonly Type[] => (type as { types?: readonly Type[] }).types ?? [type];

/** Throws for a union that shares only null with ours: its tombstones could be decoded, but are of another topic. */
function checkValueType(topic: TopicName, type: Type): void {
  const branches = branchesOf(type).filter(({ typeName }) => typeName !== 'null');
  const failures = branches.flatMap((branch) => {
    try {
      compileDecoder(branch, topicTypes[topic], { anyName: true });
      return [];
    } catch (error) {
      return [error];
    }
  });
  if (failures.length > 0 && failures.length === branches.length) throw failures[0];
}

export type { ArchiveDecoder };
