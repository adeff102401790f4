import type { FieldWrite } from '../../projector/ports/view-writer.ts';

/**
 * Texts as one MessagePack array, which scripts take apart with `cmsgpack.unpack`. A rider's fields are short and many: as
 * arguments of their own, each would cost the client and Redis more than its bytes do.
 */

// MessagePack's formats: an array with 16 bits of length; a text with 5, 16 or 32 bits of length.
const array16 = 0xdc;
const shortText = 0xa0;
const text16 = 0xda;
const text32 = 0xdb;
const shortTextMax = 31;

let scratch = Buffer.allocUnsafe(64 * 1024);

/** `field, value, field, value, …` of fields that have a value. At most 32,767 of them. */
export function packSet(fields: readonly FieldWrite[]): Buffer {
  let at = header(2 * fields.length);
  for (const { field, value } of fields) at = pack(value!, pack(field, at));
  return Buffer.from(scratch.subarray(0, at));
}

/** The names of fields. At most 65,535 of them. */
export function packNames(fields: readonly FieldWrite[]): Buffer {
  let at = header(fields.length);
  for (const { field } of fields) at = pack(field, at);
  return Buffer.from(scratch.subarray(0, at));
}

function header(count: number): number {
  scratch[0] = array16;
  scratch.writeUInt16BE(count, 1);
  return 3;
}

/** Writes a text at a place in `scratch`. Returns the place after it. */
function pack(text: string, at: number): number {
  // A UTF-16 unit takes at most three bytes.
  const bytesMax = 3 * text.length;
  if (at + 5 + bytesMax > scratch.length) {
    const larger = Buffer.allocUnsafe(2 * (at + 5 + bytesMax));
    scratch.copy(larger, 0, 0, at);
    scratch = larger;
  }
  if (text.length <= shortTextMax && packShort(text, at)) return at + 1 + text.length;
  const headerBytes = bytesMax <= 0xffff ? 3 : 5;
  const length = scratch.write(text, at + headerBytes);
  if (headerBytes === 3) {
    scratch[at] = text16;
    scratch.writeUInt16BE(length, at + 1);
  } else {
    scratch[at] = text32;
    scratch.writeUInt32BE(length, at + 1);
  }
  return at + headerBytes + length;
}

/** A short text of ASCII, unit by unit: calling the encoder would take longer. False for any other text. */
function packShort(text: string, at: number): boolean {
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit > 0x7f) return false;
    scratch[at + 1 + i] = unit;
  }
  scratch[at] = shortText | text.length;
  return true;
}
