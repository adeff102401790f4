import type { Schema, Type, types } from 'avsc';
import type { LogRecord, RawRecord, RecordHeader, UndecodableRecord } from '../../projector/ports/event-log.ts';
import { Cursor } from '../../schemas/avro/avro-cursor.ts';
import { compileReader, compileSkip, IncompatibleSchemaError, type Read } from '../../schemas/avro/avro-reader.ts';
import { archivedExtras, archivedSchema, parseOurs, parseWriter, topicTypes } from '../../schemas/avro/avro-types.ts';
import { decodeKey, encodeValue } from '../../schemas/avro/codec.ts';
import { singleObjectHeader } from '../../schemas/avro/single-object.ts';
import { reasonOf, undecodable } from '../../schemas/avro/undecodable.ts';
import type { AnyRecord, TopicName } from '../../schemas/events/records.ts';
import { ContainerFormatError } from './avro-container.ts';

interface Archived {
  partition: number;
  offset: number;
  timestamp: number;
  key: string;
  value: AnyRecord | null;
  headers?: RecordHeader[];
  raw?: Buffer | null;
}

/** An archived record without its value. Its key is bytes, because it may not be UTF-8. */
type ArchivedHead = Omit<Archived, 'key' | 'value'> & { key: Buffer };

/** Other tools may write fields of these names with another meaning. Such fields are left out. */
function extrasOf(writer: types.RecordType): typeof archivedExtras {
  return archivedExtras.filter(({ name, type }) => {
    const field = writer.fields.find((one) => one.name === name);
    if (!field) return true;
    try {
      compileReader(field.type, parseOurs(type as Schema), { anyName: true });
      return true;
    } catch {
      return false;
    }
  });
}

const headType = (extras: typeof archivedExtras): Type =>
  parseOurs({
    type: 'record',
    name: 'Archived',
    namespace: 'ridecalendar',
    fields: [
      { name: 'partition', type: 'int' },
      { name: 'offset', type: 'long' },
      { name: 'timestamp', type: 'long' },
      { name: 'key', type: 'bytes' },
      ...extras,
    ],
  } as Schema);

const none: readonly RecordHeader[] = [];

const cursor = new Cursor();

class ArchivedRecord implements LogRecord {
  readonly topic: TopicName;
  readonly partition: number;
  readonly offset: number;
  readonly timestampMs: number;
  readonly key: string;
  readonly value: AnyRecord | null;
  readonly headers: readonly RecordHeader[];
  readonly rawValue: Buffer | null;

  constructor(topic: TopicName, archived: Archived) {
    this.topic = topic;
    this.partition = archived.partition;
    this.offset = archived.offset;
    this.timestampMs = archived.timestamp;
    this.key = archived.key;
    this.value = archived.value;
    this.headers = archived.headers ?? none;
    this.rawValue = archived.raw ?? null;
  }

  raw(): RawRecord {
    const encoded = () => (this.value === null ? null : encodeValue(this.topic, this.value as never));
    return { key: Buffer.from(this.key), value: this.rawValue ?? encoded(), headers: byName(this.headers) };
  }
}

/** If several headers have the same name, the last one is kept. */
const byName = (headers: readonly RecordHeader[]): Record<string, Buffer> =>
  Object.fromEntries(headers.map(({ key, value }) => [key, value ?? Buffer.alloc(0)]));

/** All files together have few schemas. Each is compiled once. */
const decoders = new Map<string, ArchiveDecoder>();
const decodersMax = 200;

/** The decoder of a topic's files with this schema. Throws ContainerFormatError if the schema is not the topic's. */
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

/**
 * Decodes the blocks of container files (docs/rules.md#archived-record). Their records are `Archived`, in the schema of
 * the tool that wrote them.
 */
class ArchiveDecoder {
  readonly #topic: TopicName;
  readonly #read: Read<Archived>;
  readonly #readHead: Read<ArchivedHead>;
  readonly #readValueBytes: Read<Buffer | null>;

  constructor(topic: TopicName, schemaText: string) {
    this.#topic = topic;
    try {
      const writer = parseWriter(schemaText);
      // Tools choose the record names in the files that they write.
      const options = { anyName: true };
      const extras = extrasOf(writer as types.RecordType);
      this.#read = compileReader<Archived>(writer, parseOurs(archivedSchema(topic, extras)), options);
      this.#readHead = compileReader<ArchivedHead>(writer, headType(extras), options);
      this.#readValueBytes = valueBytesReader(writer as types.RecordType);
      checkValueType(topic, writer as types.RecordType);
    } catch (error) {
      const what = error instanceof IncompatibleSchemaError ? `: ${error.message}` : '';
      const fix = `write it with record Archived {partition, offset, timestamp, key, value} of ${topic}`;
      throw new ContainerFormatError(`its schema is not that of an archive of ${topic}${what}; ${fix}`, {
        cause: error,
      });
    }
  }

  /**
   * A block's records. If a value cannot be decoded, that record is undecodable and the others are not affected. Throws
   * ContainerFormatError if the bytes do not say where the next record begins.
   */
  records(data: Buffer, count: number): (LogRecord | UndecodableRecord)[] {
    const records: (LogRecord | UndecodableRecord)[] = [];
    let pos = 0;
    for (let i = 0; i < count; i++) {
      try {
        records.push(new ArchivedRecord(this.#topic, exact(this.#read(cursor.set(data, pos)))));
      } catch (error) {
        records.push(this.#undecodable(data, pos, i, reasonOf(error)));
      }
      pos = cursor.pos;
    }
    if (pos !== data.length) throw new ContainerFormatError(`its block goes on after its ${count} records`);
    return records;
  }

  /** The offset of a block's last record. */
  lastOffset(data: Buffer, count: number): number {
    let offset = -1;
    let pos = 0;
    for (let i = 0; i < count; i++) {
      offset = this.#head(data, pos, i).offset;
      pos = cursor.pos;
    }
    return offset;
  }

  #undecodable(data: Buffer, pos: number, index: number, reason: string): UndecodableRecord {
    const head = this.#head(data, pos, index);
    const end = cursor.pos;
    const value = this.#readValueBytes(cursor.set(data, pos).withoutStepsMax());
    cursor.pos = end;
    const key = decodeKey(head.key);
    const { headers = none } = head;
    const raw: RawRecord = { key: head.key, value: head.raw ?? value, headers: byName(headers) };
    return {
      topic: this.#topic,
      partition: head.partition,
      offset: head.offset,
      timestampMs: head.timestamp,
      undecodable: 'bad' in key ? key.bad : reason,
      headers,
      raw: () => raw,
    };
  }

  /** Finds where the next record begins even if this record is bad. */
  #head(data: Buffer, pos: number, index: number): ArchivedHead {
    try {
      return exact(this.#readHead(cursor.set(data, pos).withoutStepsMax()));
    } catch (error) {
      throw new ContainerFormatError(`record ${index + 1} of its block can not be read (${reasonOf(error)})`);
    }
  }
}

const outOfRange = undecodable('number out of range');

/** A record's place in the log must be a safe integer. Its value may contain larger numbers. */
function exact<T extends Pick<ArchivedHead, 'offset' | 'timestamp'>>(head: T): T {
  if (typeof head.offset === 'bigint' || typeof head.timestamp === 'bigint') throw outOfRange;
  return head;
}

/**
 * By Avro's rules a union that shares only null with ours can be read, for tombstones. In a file it means that the file
 * is not ours.
 */
function checkValueType(topic: TopicName, writer: types.RecordType): void {
  const type = writer.fields.find((field) => field.name === 'value')!.type;
  const branches = ((type as { types?: readonly Type[] }).types ?? [type]).filter(
    ({ typeName }) => typeName !== 'null',
  );
  const failures = branches.flatMap((branch) => {
    try {
      compileReader(branch, topicTypes[topic], { anyName: true });
      return [];
    } catch (error) {
      return [error];
    }
  });
  if (failures.length > 0 && failures.length === branches.length) throw failures[0];
}

/**
 * Reads a record's value as it was written, with a single-object header of the writer's schema in front. So a tool that
 * has the schema can decode what goes to `rejected`.
 */
function valueBytesReader(writer: types.RecordType): Read<Buffer | null> {
  const index = writer.fields.findIndex((field) => field.name === 'value');
  const skipFields = writer.fields.slice(0, index).map((field) => compileSkip(field.type));
  const valueType = writer.fields[index]!.type;
  const branches = (valueType as { types?: readonly Type[] }).types;
  const skips = (branches ?? [valueType]).map(compileSkip);
  return (c) => {
    for (const skip of skipFields) skip(c);
    const branch = branches ? c.int() : 0;
    const start = c.pos;
    skips[branch]?.(c);
    const type = branches ? branches[branch] : valueType;
    if (!type || type.typeName === 'null') return null;
    return Buffer.concat([singleObjectHeader(type), c.buf.subarray(start, c.pos)]);
  };
}

export type { ArchiveDecoder };
