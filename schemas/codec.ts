import { isUtf8 } from 'node:buffer';
import { Cursor } from './avro-cursor.ts';
import { compileReader, type Read } from './avro-reader.ts';
import { topicTypes } from './avro-types.ts';
import { type AnyRecord, type TopicName, type TopicRecords, topicNames } from './records.ts';
import { fingerprintKey, singleObjectHeader, singleObjectHeaderBytes } from './single-object.ts';
import { reasonOf, type UndecodableReason } from './undecodable.ts';
import type { WriterSchemas } from './writer-schemas.ts';

/** Keys and values of the event log (DESIGN §2): both encodings, told apart record by record. */

export type DecodedValue =
  | { value: AnyRecord }
  /** The record is bad for good. */
  | { bad: UndecodableReason }
  /** The id of a schema that has to be looked up in the registry first (WriterSchemas.addRegistered). */
  | { needs: number };

export type DecodedKey = { key: string } | { bad: UndecodableReason };

/** Our own header and reader per topic: what nearly every record needs. */
interface OwnCodec {
  header: Buffer;
  low: number;
  high: number;
  read: Read<AnyRecord>;
}

const ownCodecs = Object.fromEntries(topicNames.map((topic) => [topic, ownCodec(topic)])) as Record<
  TopicName,
  OwnCodec
>;

function ownCodec(topic: TopicName): OwnCodec {
  const type = topicTypes[topic];
  const header = singleObjectHeader(type);
  const [low, high] = [header.readInt32LE(2), header.readInt32LE(6)];
  return { header, low, high, read: compileReader<AnyRecord>(type, type) };
}

const cursor = new Cursor();
const confluentHeaderBytes = 5;

/** Decodes a record's value, which is not null (a tombstone has none to decode). Never throws. */
export function decodeValue(topic: TopicName, bytes: Buffer, writers: WriterSchemas): DecodedValue {
  if (bytes.length >= singleObjectHeaderBytes && bytes[0] === 0xc3 && bytes[1] === 0x01) {
    const own = ownCodecs[topic];
    if (bytes.readInt32LE(2) === own.low && bytes.readInt32LE(6) === own.high) {
      return readValue(own.read, bytes, singleObjectHeaderBytes);
    }
    const reader = writers.byFingerprint(topic, fingerprintKey(bytes));
    return typeof reader === 'string' ? { bad: reader } : readValue(reader, bytes, singleObjectHeaderBytes);
  }
  if (bytes.length >= confluentHeaderBytes && bytes[0] === 0x00) {
    const id = bytes.readInt32BE(1);
    // Registries count from 1: no use asking for others.
    if (id < 1) return { bad: 'unknown schema id' };
    const reader = writers.byId(topic, id);
    if (reader === undefined) return { needs: id };
    return typeof reader === 'string' ? { bad: reader } : readValue(reader, bytes, confluentHeaderBytes);
  }
  return { bad: 'not Avro' };
}

function readValue(read: Read<AnyRecord>, bytes: Buffer, pos: number): DecodedValue {
  try {
    const value = read(cursor.set(bytes, pos));
    return cursor.pos === bytes.length ? { value } : { bad: 'trailing bytes' };
  } catch (error) {
    return { bad: reasonOf(error) };
  }
}

/** Decodes a record's key. */
export function decodeKey(bytes: Buffer | null | undefined): DecodedKey {
  if (bytes === null || bytes === undefined) return { bad: 'no key' };
  const key = bytes.toString('utf8');
  return key.includes('\uFFFD') && !isUtf8(bytes) ? { bad: 'key is not UTF-8' } : { key };
}

let scratch = Buffer.allocUnsafe(64 * 1024);

/**
 * Encodes a topic's record as a single object with our schema. Throws where the value doesn't fit the schema, without
 * showing any of it.
 */
export function encodeValue<Topic extends TopicName>(topic: Topic, value: TopicRecords[Topic]): Buffer {
  const { header } = ownCodecs[topic];
  for (;;) {
    const end = encodeInto(topic, value);
    if (end >= 0) {
      header.copy(scratch);
      return Buffer.from(scratch.subarray(0, end));
    }
    scratch = Buffer.allocUnsafe(2 * (scratch.length - end));
  }
}

function encodeInto(topic: TopicName, value: AnyRecord): number {
  try {
    return topicTypes[topic].encode(value, scratch, singleObjectHeaderBytes);
  } catch {
    // avsc's message shows the value.
    throw new TypeError(
      `Cannot encode a record of ${topic}: a field's value does not fit schemas/events/${topic}.avsc`,
    );
  }
}
