import type { Type, types } from 'avsc';
import type { LogRecord, UndecodableRecord } from '../../../projector/ports/decoded-record.ts';
import type { Reject } from '../../../projector/ports/event-log.ts';
import { Cursor } from '../../../schemas/avro/avro-cursor.ts';
import { isUnion } from '../../../schemas/avro/avro-type-kinds.ts';
import { parseWriter } from '../../../schemas/avro/avro-types.ts';
import { compileSkip } from '../../../schemas/avro/compile-decoder.ts';
import { isBatchFault } from '../../../schemas/avro/undecodable.ts';
import { parseRecordKey } from '../../../schemas/events/record-keys.ts';
import {
  type Attendance,
  isTopicName,
  type Relation,
  type Ride,
  type Rider,
  type TopicName,
} from '../../../schemas/events/records.ts';

/**
 * What was removed from a record. `record`: all of it. `leaders`: the rider among a ride's leaders. `headers`: those
 * that name the rider. `raw`: the value as it came; what our schema holds of it stays.
 */
export type ForgottenPart = 'record' | 'leaders' | 'headers' | 'raw';

const cursor = new Cursor();

/** A record as avsc has it (parseWriter). */
type Editable = Record<'headers' | 'raw' | 'value', unknown>;

/**
 * Removes a rider from the records of one file: returns the bytes of the record at `pos` without the rider, or null if the
 * whole record goes. `end`: where it ends.
 */
export function recordForgetter(rider: string, schemaText: string) {
  const type = parseWriter(schemaText) as types.RecordType;
  const skip = compileSkip(type);
  return (
    record: LogRecord | UndecodableRecord,
    block: Buffer,
    pos: number,
  ): { end: number; bytes: Buffer | null; parts: ReadonlySet<ForgottenPart> } => {
    skip(cursor.set(block, pos));
    const end = cursor.pos;
    if (isOfRider(record, rider)) return { end, bytes: null, parts: new Set(['record']) };
    const bytes = block.subarray(pos, end);
    const parts = partsNaming(rider, record);
    return { end, bytes: parts.size === 0 ? bytes : withoutParts(parts, rider, type, bytes), parts };
  };
}

/** Which parts of a record that stays name the rider. */
function partsNaming(rider: string, record: LogRecord | UndecodableRecord): Set<ForgottenPart> {
  const parts = new Set<ForgottenPart>();
  const { headers = [] } = record;
  if (headers.some(({ key, value }) => mentionsDeep([key, value], rider))) parts.add('headers');
  if (!('key' in record)) return parts;
  const { topic, value, rawValue } = record;
  if (topic === 'rides' && (value as Ride | null)?.leaders.includes(rider)) parts.add('leaders');
  if (rawValue && mentions(rawValue, rider)) parts.add('raw');
  return parts;
}

/** Reads the record and writes it anew, by the file's own schema. */
function withoutParts(parts: ReadonlySet<ForgottenPart>, rider: string, type: types.RecordType, bytes: Buffer): Buffer {
  const typeOf = (name: string): Type => type.fields.find((field) => field.name === name)!.type;
  const record = type.fromBuffer(bytes) as Editable;
  if (parts.has('headers')) record.headers = withoutItems(record.headers, (header) => mentionsDeep(header, rider));
  if (parts.has('leaders')) {
    const value = unwrapped(typeOf('value'), record.value) as { leaders: unknown };
    value.leaders = withoutItems(value.leaders, (leader) => someText(leader, (text) => String(text) === rider));
  }
  // A file of another library may have a `raw` that is never null.
  if (parts.has('raw')) record.raw = isUnion(typeOf('raw')) ? null : Buffer.alloc(0);
  return type.toBuffer(record);
}

/** `{ string: 'x' }` is 'x', if the type is a union. */
const unwrapped = (type: Type, value: unknown): unknown => (isUnion(type) ? Object.values(value as object)[0] : value);

/** An array without some items, whatever unions it is wrapped in. */
function withoutItems(node: unknown, isGone: (item: unknown) => boolean): unknown {
  if (Array.isArray(node)) return node.filter((item) => !isGone(item));
  return Object.fromEntries(Object.entries(node as object).map(([name, inner]) => [name, withoutItems(inner, isGone)]));
}

/** Whether any text or bytes in a value pass a test, whatever unions it is wrapped in. */
function someText(value: unknown, test: (text: string | Buffer) => boolean): boolean {
  if (typeof value === 'string' || Buffer.isBuffer(value)) return test(value);
  return typeof value === 'object' && value !== null && Object.values(value).some((inner) => someText(inner, test));
}

const mentionsDeep = (value: unknown, rider: string): boolean =>
  someText(value, (text) => (typeof text === 'string' ? isWordIn(text, rider) : mentions(text, rider)));

/** Topics whose records are about riders (docs/rules.md#archive-forget). */
const personal: ReadonlySet<TopicName> = new Set(['riders', 'attendance', 'relations']);

/** Whether a record is the rider's own. Such a record is removed as a whole. */
function isOfRider(record: LogRecord | UndecodableRecord, rider: string): boolean {
  const { topic } = record;
  if ('key' in record) {
    if (isKeyOfRider(topic, record.key, rider)) return true;
    return personal.has(topic) && isValueOfRider(topic, record.value, rider);
  }
  const { key, value } = record.raw();
  return isBadRecordOfRider(topic, key, value, rider);
}

/** Whether a bad record is about the rider. It cannot be edited, so it is removed as a whole. */
export function isRejectOfRider({ topic, reason, raw }: Reject, rider: string): boolean {
  const { key, value, headers } = raw;
  // A batch that cannot be unpacked cannot be searched.
  if (isBatchFault(reason)) return true;
  if (Object.entries(headers).some(([name, header]) => isWordIn(name, rider) || mentions(header, rider))) return true;
  return isBadRecordOfRider(topic, key, value, rider);
}

/** Whether a bad record names the rider, whatever its topic: it may have been published to the wrong one. */
const isBadRecordOfRider = (topic: string, key: Buffer | null, value: Buffer | null, rider: string): boolean =>
  isKeyOfRider(topic, key?.toString('latin1') ?? '', rider) || (value !== null && mentions(value, rider));

function isKeyOfRider(topic: string, key: string, rider: string): boolean {
  if (!isTopicName(topic)) return isWordIn(key, rider);
  const parsed = parseRecordKey(topic, key);
  // In a bad key it is not known which part is what.
  if ('fault' in parsed) return isWordIn(key, rider);
  const { rider: first, other } = parsed.fields as Partial<Relation>;
  return first === rider || other === rider;
}

function isValueOfRider(topic: TopicName, value: LogRecord['value'], rider: string): boolean {
  if (value === null) return false;
  if ((value as Rider | Attendance | Relation).rider === rider) return true;
  return topic === 'relations' && (value as Relation).other === rider;
}

/** Whether bytes contain the id as an Avro string, or as a word in any text. */
function mentions(bytes: Buffer, rider: string): boolean {
  // Ids have at most 64 characters, so the length takes one byte or, for 64, two.
  const length = rider.length < 64 ? [rider.length * 2] : [0x80, 0x01];
  return (
    bytes.includes(Buffer.concat([Buffer.from(length), Buffer.from(rider)])) ||
    isWordIn(bytes.toString('latin1'), rider)
  );
}

const isWordIn = (text: string, rider: string): boolean =>
  text.includes(rider) && new RegExp(`(?<![A-Za-z0-9_-])${rider}(?![A-Za-z0-9_-])`).test(text);
