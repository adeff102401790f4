import type { FieldWrite } from '../../../projector/ports/view-writer.ts';

/**
 * Lists of texts as one MessagePack array of arrays, which scripts take apart with `cmsgpack.unpack`. Riders' fields are
 * short and many: as arguments of their own, each would cost the client and Redis more than its bytes do.
 */

// MessagePack's formats: an array, and a text, with 32 bits of length; a text with 5 bits of length.
const array32 = 0xdd;
const text32 = 0xdb;
const shortText = 0xa0;
const shortTextMax = 31;
const headerBytes = 5;

/** Fields of one hash: to set, or to remove. */
export interface FieldList {
  sets: boolean;
  fields: readonly FieldWrite[];
}

/** For each list an array: `field, value, field, value, …` of fields to set, the names of fields to remove. */
export function packFields(lists: readonly FieldList[]): Buffer {
  let bytesMax = headerBytes;
  for (const { fields } of lists) {
    bytesMax += headerBytes;
    for (const { field, value } of fields) bytesMax += textBytesMax(field) + textBytesMax(value ?? '');
  }
  const packed = Buffer.allocUnsafe(bytesMax);
  let at = packHeader(packed, array32, lists.length, 0);
  for (const { sets, fields } of lists) {
    at = packHeader(packed, array32, sets ? 2 * fields.length : fields.length, at);
    for (const { field, value } of fields) {
      at = packText(packed, field, at);
      if (sets) at = packText(packed, value!, at);
    }
  }
  return packed.subarray(0, at);
}

// A UTF-16 unit takes at most three bytes.
const textBytesMax = (text: string): number => headerBytes + 3 * text.length;

// Each writes at a place, and returns the place after it.

function packHeader(packed: Buffer, format: number, length: number, at: number): number {
  packed[at] = format;
  return packed.writeUInt32BE(length, at + 1);
}

function packText(packed: Buffer, text: string, at: number): number {
  if (text.length <= shortTextMax && packShort(packed, text, at)) return at + 1 + text.length;
  const length = packed.write(text, at + headerBytes);
  return packHeader(packed, text32, length, at) + length;
}

/** A short text of ASCII, unit by unit: calling the encoder would take longer. False for any other text. */
function packShort(packed: Buffer, text: string, at: number): boolean {
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit > 0x7f) return false;
    packed[at + 1 + i] = unit;
  }
  packed[at] = shortText | text.length;
  return true;
}
