import { isUtf8 } from 'node:buffer';
import type { Type } from 'avsc';
import { type AnyRecord, byTopic, type TopicName, type TopicRecords } from '../events/records.ts';
import { Cursor } from './avro-cursor.ts';
import { topicTypes } from './avro-types.ts';
import type { Placed } from './placed.ts';
import { confluentHeaderBytes, fingerprintIn, singleObjectHeader, singleObjectHeaderBytes } from './single-object.ts';
import { type TopicDecoder, topicDecoder } from './topic-decoder.ts';
import { reasonOf, type UndecodableReason, undecodable } from './undecodable.ts';
import type { SchemaName, WriterSchemas } from './writer-schemas.ts';

/** Keys and values of the event log (docs/rules.md#encodings). Both encodings are recognized record by record. */

/** The name of a schema that must first be looked up. */
export interface Needs {
  needs: SchemaName;
}

export const isNeeded = (decoder: object | string | null): decoder is Needs =>
  typeof decoder === 'object' && decoder !== null && 'needs' in decoder;

/** The record is bad, permanently. */
type Bad = { bad: UndecodableReason };

/** Our own header and decoder for a topic: what nearly every record needs. */
interface OwnCodec {
  header: Buffer;
  low: number;
  high: number;
  decoder: TopicDecoder;
}

const ownCodecs = byTopic(ownCodec);

function ownCodec(topic: TopicName): OwnCodec {
  const type = topicTypes[topic];
  const header = singleObjectHeader(type);
  const [low, high] = [header.readInt32LE(2), header.readInt32LE(6)];
  return { header, low, high, decoder: topicDecoder(topic, type, singleObjectHeaderBytes) };
}

// Looked up once per batch, because a batch has one topic: with eight names the look-up is slow.
let lastTopic: TopicName = 'metros';
let lastCodec = ownCodecs.metros;

function setLast(topic: TopicName): void {
  lastTopic = topic;
  lastCodec = ownCodecs[topic];
}

const cursor = new Cursor();

/**
 * The decoder for a value, by its header; or why there is none; or the name of a schema that must first be looked up
 * (WriterSchemas.add).
 */
export function decoderFor(
  topic: TopicName,
  bytes: Buffer,
  writers: WriterSchemas,
): TopicDecoder | UndecodableReason | Needs {
  if (bytes.length >= singleObjectHeaderBytes && bytes[0] === 0xc3 && bytes[1] === 0x01) {
    if (topic !== lastTopic) setLast(topic);
    const own = lastCodec;
    if (int32At(bytes, 2) === own.low && int32At(bytes, 6) === own.high) return own.decoder;
    const fingerprint = fingerprintIn(bytes);
    return writers.byName(topic, fingerprint) ?? { needs: fingerprint };
  }
  if (bytes.length >= confluentHeaderBytes && bytes[0] === 0x00) {
    const id = bytes.readInt32BE(1);
    // Registries count from 1, so other ids need no look-up.
    return id < 1 ? writers.whyUnknown(topic, id) : (writers.byName(topic, id) ?? { needs: id });
  }
  return 'not Avro';
}

/** The decoder for values that `encodeValue` has made. */
export const ownDecoder = (topic: TopicName): TopicDecoder => ownCodecs[topic].decoder;

/** Buffer's own function checks its arguments first, which takes longer. */
const int32At = (bytes: Buffer, pos: number): number =>
  bytes[pos]! | (bytes[pos + 1]! << 8) | (bytes[pos + 2]! << 16) | (bytes[pos + 3]! << 24);

/** Decodes a value, but leaves its texts in place. Null is a tombstone. Throws UndecodableError. */
export function placeValue(decoder: TopicDecoder, bytes: Buffer, into: Cursor): Placed<AnyRecord> | null {
  const placed = decoder.place(into.set(bytes, decoder.headerBytes));
  if (into.pos !== bytes.length) throw trailing;
  return placed;
}

const trailing = undecodable('trailing bytes');

/** Decodes a value with its texts. Null is a tombstone. Never throws. */
export function decodeWith(
  decoder: TopicDecoder | UndecodableReason,
  bytes: Buffer,
): { value: AnyRecord | null } | Bad {
  if (typeof decoder === 'string') return { bad: decoder };
  try {
    const placed = placeValue(decoder, bytes, cursor);
    return { value: placed && decoder.spell(placed, cursor) };
  } catch (error) {
    return { bad: reasonOf(error) };
  }
}

/** Decodes a record's key. */
export function decodeKey(bytes: Buffer | null | undefined): { key: string } | Bad {
  if (bytes === null || bytes === undefined) return { bad: 'no key' };
  const key = bytes.toString('utf8');
  return key.includes('\uFFFD') && !isUtf8(bytes) ? { bad: 'key is not UTF-8' } : { key };
}

let scratch = Buffer.allocUnsafe(64 * 1024);

/** A value's bytes from `start` on, valid until the next call: avsc's own `toBuffer` takes three times as long. */
export function encoded(type: Type, value: unknown, start = 0): Buffer {
  const end = type.encode(value, scratch, start);
  if (end >= 0) return scratch.subarray(0, end);
  // So many bytes are missing.
  scratch = Buffer.allocUnsafe(2 * (scratch.length - end));
  return encoded(type, value, start);
}

/**
 * Encodes a topic's record as a single object with our schema. If the value does not fit the schema, throws without
 * showing any of it. `type`: one that takes values in another form.
 */
export function encodeValue<Topic extends TopicName>(
  topic: Topic,
  value: TopicRecords[Topic],
  type = topicTypes[topic],
): Buffer {
  try {
    const bytes = Buffer.from(encoded(type, value, singleObjectHeaderBytes));
    ownCodecs[topic].header.copy(bytes);
    return bytes;
  } catch {
    // avsc's message would show the value.
    throw new TypeError(
      `Cannot encode a record of ${topic}: a field's value does not fit schemas/events/${topic}.avsc`,
    );
  }
}
