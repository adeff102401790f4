import type { Type, types } from 'avsc';
import type { LogRecord, UndecodableRecord } from '../../projector/ports/decoded-record.ts';
import type { Reject } from '../../projector/ports/event-log.ts';
import { Cursor } from '../../schemas/avro/avro-cursor.ts';
import { compileReader } from '../../schemas/avro/avro-reader.ts';
import { parseWriter, topicTypes } from '../../schemas/avro/avro-types.ts';
import { encodeValue } from '../../schemas/avro/codec.ts';
import { confluentHeaderBytes, singleObjectHeaderBytes } from '../../schemas/avro/single-object.ts';
import { isBatchFault } from '../../schemas/avro/undecodable.ts';
import { parseRecordKey } from '../../schemas/events/record-keys.ts';
import type { Attendance, Relation, Ride, Rider, TopicName } from '../../schemas/events/records.ts';
import type { ManifestWriterSchema } from './archive-manifest.ts';
import { encodeBytes, filterItems, RecordBytes, withoutItems } from './record-bytes.ts';

/**
 * What was removed from a record: all of it, or parts. `leaders`: the rider among a ride's leaders. `headers`: those
 * that name the rider. `raw`: the value as it came; it cannot be kept without the rider, so only what our schema holds
 * of it is left.
 */
export type ForgottenPart = 'record' | 'leaders' | 'headers' | 'raw';

const leaders = (topicTypes.rides as types.RecordType).fields.find(({ name }) => name === 'leaders')!;
const cursor = new Cursor();

/** Removes a rider from the records of one file. */
export class RecordForgetter {
  readonly #rider: string;
  readonly #type: types.RecordType;
  readonly #bytes: RecordBytes;
  readonly #schemas: readonly ManifestWriterSchema[];

  constructor(rider: string, schemaText: string, schemas: readonly ManifestWriterSchema[]) {
    this.#rider = rider;
    this.#type = parseWriter(schemaText) as types.RecordType;
    this.#bytes = new RecordBytes(this.#type);
    this.#schemas = schemas;
  }

  /** The bytes of the record at `pos` without the rider. Null if the whole record goes. `end`: where it ends. */
  forget(
    record: LogRecord | UndecodableRecord,
    block: Buffer,
    pos: number,
  ): { end: number; bytes: Buffer | null; parts: Set<ForgottenPart> } {
    const fields = this.#bytes.fields(block, pos);
    const end = pos + [...fields.values()].reduce((sum, { length }) => sum + length, 0);
    if (isOfRider(record, this.#rider)) return { end, bytes: null, parts: new Set(['record']) };
    const parts = new Set<ForgottenPart>();
    this.#forgetHeaders(record, fields, parts);
    if ('key' in record) {
      this.#forgetLeader(record, fields, parts);
      this.#forgetRaw(record, fields, parts);
    }
    const bytes = parts.size === 0 ? block.subarray(pos, end) : Buffer.concat([...fields.values()]);
    return { end, bytes, parts };
  }

  #typeOf(name: string): Type {
    return this.#type.fields.find((field) => field.name === name)!.type;
  }

  #forgetHeaders(
    { headers = [] }: LogRecord | UndecodableRecord,
    fields: Map<string, Buffer>,
    parts: Set<ForgottenPart>,
  ) {
    const isKept = (index: number) => {
      const { key, value } = headers[index]!;
      return !isWordIn(key, this.#rider) && !(value && mentions(value, this.#rider));
    };
    if (headers.every((_, index) => isKept(index))) return;
    fields.set('headers', filterItems(this.#typeOf('headers') as types.ArrayType, fields.get('headers')!, isKept));
    parts.add('headers');
  }

  #forgetLeader({ topic, value }: LogRecord, fields: Map<string, Buffer>, parts: Set<ForgottenPart>): void {
    if (topic !== 'rides' || !(value as Ride | null)?.leaders.includes(this.#rider)) return;
    const isKept = (index: number) => (value as Ride).leaders[index] !== this.#rider;
    fields.set('value', withoutItems(this.#typeOf('value'), leaders, fields.get('value')!, isKept)!);
    parts.add('leaders');
  }

  /**
   * A value as it came has fields that we do not know. If it names the rider anywhere but as a leader, it is dropped.
   */
  #forgetRaw(record: LogRecord, fields: Map<string, Buffer>, parts: Set<ForgottenPart>): void {
    const { rawValue } = record;
    if (!rawValue || !mentions(rawValue, this.#rider)) return;
    const changed = record.topic === 'rides' ? this.#withoutLeader(rawValue) : null;
    const kept = changed && !mentions(changed, this.#rider) ? changed : null;
    if (!kept) parts.add('raw');
    const type = this.#typeOf('raw');
    const encoded = encodeBytes(type, kept) ?? encodeBytes(type, this.#ours(record));
    fields.set('raw', encoded!);
  }

  /** The value in our schema, for files whose `raw` cannot be null. */
  #ours({ topic, value }: LogRecord): Buffer {
    const ride = value as Ride;
    const without = topic === 'rides' ? { ...ride, leaders: ride.leaders.filter((one) => one !== this.#rider) } : value;
    return encodeValue(topic, without as never);
  }

  /** A ride's value as it came, without the leader. Null if its schema is not known. */
  #withoutLeader(value: Buffer): Buffer | null {
    const isConfluent = value[0] === 0;
    const start = isConfluent ? confluentHeaderBytes : singleObjectHeaderBytes;
    const fingerprint = value.toString('hex', 2, singleObjectHeaderBytes);
    const schema = this.#schemas.find((one) =>
      isConfluent ? one.id === value.readInt32BE(1) : one.id === null && one.fingerprint === fingerprint,
    );
    if (!schema) return null;
    const type = parseWriter(schema.schema, schema.references);
    const ride = compileReader<Ride>(type, topicTypes.rides)(cursor.set(value, start));
    const isKept = (index: number) => ride.leaders[index] !== this.#rider;
    const body = withoutItems(type, leaders, value.subarray(start), isKept);
    return body && Buffer.concat([value.subarray(0, start), body]);
  }
}

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
  // Nobody can look into a batch that does not unpack.
  if (isBatchFault(reason)) return true;
  if (Object.entries(headers).some(([name, header]) => isWordIn(name, rider) || mentions(header, rider))) return true;
  return isBadRecordOfRider(topic, key, value, rider);
}

/** A bad record may be of another topic than it stands in: what matters is whether it names the rider. */
function isBadRecordOfRider(topic: TopicName, key: Buffer | null, value: Buffer | null, rider: string): boolean {
  return isKeyOfRider(topic, key?.toString('latin1') ?? '', rider) || (value !== null && mentions(value, rider));
}

function isKeyOfRider(topic: TopicName, key: string, rider: string): boolean {
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
