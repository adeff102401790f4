import type { Type, types } from 'avsc';
import type { LogRecord, UndecodableRecord } from '../../projector/ports/decoded-record.ts';
import { Cursor } from '../../schemas/avro/avro-cursor.ts';
import { compileReader } from '../../schemas/avro/avro-reader.ts';
import { parseWriter, topicTypes } from '../../schemas/avro/avro-types.ts';
import { encodeValue } from '../../schemas/avro/codec.ts';
import { confluentHeaderBytes, singleObjectHeaderBytes } from '../../schemas/avro/single-object.ts';
import type { Ride } from '../../schemas/events/records.ts';
import type { ManifestWriterSchema } from './archive-manifest.ts';
import { encodeBytes, filterItems, RecordBytes, withoutItems } from './record-bytes.ts';
import { isOfRider, isWordIn, mentions } from './rider-mentions.ts';

/** What was removed from a record: all of it, or parts. */
export interface ForgottenParts {
  /** The whole record. */
  record?: true;
  /** The rider among a ride's leaders. */
  leader?: true;
  /** Headers that name the rider. */
  headers?: true;
  /** The value as it came. It cannot be kept without the rider, so only what our schema holds of it is left. */
  raw?: true;
}

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
  ): { end: number; bytes: Buffer | null; parts: ForgottenParts | null } {
    const fields = this.#bytes.fields(block, pos);
    const end = pos + [...fields.values()].reduce((sum, { length }) => sum + length, 0);
    if (isOfRider(record, this.#rider)) return { end, bytes: null, parts: { record: true } };
    const parts: ForgottenParts = {};
    this.#forgetHeaders(record, fields, parts);
    if ('key' in record) {
      this.#forgetLeader(record, fields, parts);
      this.#forgetRaw(record, fields, parts);
    }
    if (Object.keys(parts).length === 0) return { end, bytes: block.subarray(pos, end), parts: null };
    return { end, bytes: Buffer.concat([...fields.values()]), parts };
  }

  #typeOf(name: string): Type {
    return this.#type.fields.find((field) => field.name === name)!.type;
  }

  #forgetHeaders({ headers = [] }: LogRecord | UndecodableRecord, fields: Map<string, Buffer>, parts: ForgottenParts) {
    const isKept = (index: number) => {
      const { key, value } = headers[index]!;
      return !isWordIn(key, this.#rider) && !(value && mentions(value, this.#rider));
    };
    if (headers.every((_, index) => isKept(index))) return;
    fields.set('headers', filterItems(this.#typeOf('headers') as types.ArrayType, fields.get('headers')!, isKept));
    parts.headers = true;
  }

  #forgetLeader({ topic, value }: LogRecord, fields: Map<string, Buffer>, parts: ForgottenParts): void {
    if (topic !== 'rides' || !(value as Ride | null)?.leaders.includes(this.#rider)) return;
    const isKept = (index: number) => (value as Ride).leaders[index] !== this.#rider;
    fields.set('value', withoutItems(this.#typeOf('value'), leaders, fields.get('value')!, isKept)!);
    parts.leader = true;
  }

  /**
   * A value as it came has fields that we do not know. If it names the rider anywhere but as a leader, it is dropped.
   */
  #forgetRaw(record: LogRecord, fields: Map<string, Buffer>, parts: ForgottenParts): void {
    const { rawValue } = record;
    if (!rawValue || !mentions(rawValue, this.#rider)) return;
    const changed = record.topic === 'rides' ? this.#withoutLeader(rawValue) : null;
    const kept = changed && !mentions(changed, this.#rider) ? changed : null;
    if (!kept) parts.raw = true;
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
