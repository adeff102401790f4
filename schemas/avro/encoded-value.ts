import avro, { type Schema, type Type } from 'avsc';
import type { Tap } from './exact-long-type.ts';

/** Types for writing what may be encoded already: it is copied. */

/** A value in Avro's binary encoding, by our schema. */
export class EncodedValue {
  readonly bytes: Buffer;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }
}

type Writing<Argument> = new (argument?: Argument) => { _write(tap: Tap, value: unknown): void };

class EncodedOrNullType extends (avro.types.UnwrappedUnionType as unknown as Writing<Schema[]>) {
  override _write(tap: Tap, value: unknown): void {
    if (!(value instanceof EncodedValue)) {
      super._write(tap, value);
      return;
    }
    tap.writeLong(1);
    copy(tap, value.bytes);
  }
}

class EncodedOrTextType extends (avro.types.StringType as unknown as Writing<undefined>) {
  override _write(tap: Tap, value: unknown): void {
    if (!Buffer.isBuffer(value)) {
      super._write(tap, value);
      return;
    }
    tap.writeLong(value.length);
    copy(tap, value);
  }
}

/** Moves on even where the bytes do not fit: beyond the buffer's end, the position says how many are missing. */
function copy(tap: Tap, bytes: Buffer): void {
  if (tap.pos + bytes.length <= tap.buf.length) tap.buf.set(bytes, tap.pos);
  tap.pos += bytes.length;
}

/** A union of null and a type of ours: of null, a value, or an EncodedValue. */
export const encodedOrNull = (type: Type): Type =>
  new EncodedOrNullType(['null', type as unknown as Schema]) as unknown as Type;

/** A string: of a text, or its bytes in UTF-8. */
export const encodedOrText = new EncodedOrTextType() as unknown as Type;
