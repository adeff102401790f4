import type { Type, types } from 'avsc';
import avro from 'avsc';
import { Cursor } from '../../schemas/avro/avro-cursor.ts';
import { compileSkip } from '../../schemas/avro/avro-reader.ts';
import { isArray, isRecord, isUnion, takesBytes, writerField } from '../../schemas/avro/avro-type-kinds.ts';

/** Edits encoded records and leaves every other byte unchanged, whatever tool wrote them. */

const longType = avro.Type.forSchema('long');
const cursor = new Cursor();

/** Splits records of one type into the bytes of their fields. */
export class RecordBytes {
  readonly #skips: { name: string; skip: (cursor: Cursor) => void }[];

  constructor(type: types.RecordType) {
    this.#skips = type.fields.map((field) => ({ name: field.name, skip: compileSkip(field.type) }));
  }

  /** The bytes of each field, in order, of the record at `pos`. */
  fields(bytes: Buffer, pos: number): Map<string, Buffer> {
    cursor.set(bytes, pos);
    let start = pos;
    const fields = new Map<string, Buffer>();
    for (const { name, skip } of this.#skips) {
      skip(cursor);
      fields.set(name, bytes.subarray(start, cursor.pos));
      start = cursor.pos;
    }
    return fields;
  }
}

/**
 * A record's value without some items of one of its arrays. `keep` gets an item's index. Null if there is no such
 * array.
 */
export function withoutItems(
  type: Type,
  field: types.Field,
  value: Buffer,
  keep: (index: number) => boolean,
): Buffer | null {
  if (isUnion(type)) {
    cursor.set(value, 0);
    const branch = type.types[cursor.int()];
    const start = cursor.pos;
    const changed = branch ? withoutItems(branch, field, value.subarray(start), keep) : null;
    return changed && Buffer.concat([value.subarray(0, start), changed]);
  }
  const own = isRecord(type) ? writerField(field, type) : undefined;
  if (!isRecord(type) || !own || !isArray(own.type)) return null;
  const fields = new RecordBytes(type).fields(value, 0);
  fields.set(own.name, filterItems(own.type, fields.get(own.name)!, keep));
  return Buffer.concat([...fields.values()]);
}

/** An array's bytes with only the items to keep, as one block. */
export function filterItems(type: types.ArrayType, bytes: Buffer, keep: (index: number) => boolean): Buffer {
  const skip = compileSkip(type.itemsType);
  const kept: Buffer[] = [];
  cursor.set(bytes, 0);
  let index = 0;
  for (
    let n = cursor.blockCount(takesBytes(type.itemsType));
    n !== 0;
    n = cursor.blockCount(takesBytes(type.itemsType))
  ) {
    while (n-- > 0) {
      const start = cursor.pos;
      skip(cursor);
      if (keep(index++)) kept.push(bytes.subarray(start, cursor.pos));
    }
  }
  const end = longType.toBuffer(0);
  return kept.length === 0 ? end : Buffer.concat([longType.toBuffer(kept.length), ...kept, end]);
}

/** Bytes or null, encoded for a field of this type. Null if the type does not allow null. */
export function encodeBytes(type: Type, bytes: Buffer | null): Buffer | null {
  const body = () => Buffer.concat([longType.toBuffer(bytes!.length), bytes!]);
  if (!isUnion(type)) return bytes && body();
  const branch = type.types.findIndex(({ typeName }) => typeName === (bytes ? 'bytes' : 'null'));
  if (branch < 0) return null;
  return bytes ? Buffer.concat([longType.toBuffer(branch), body()]) : longType.toBuffer(branch);
}
