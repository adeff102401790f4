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

let scratch = Buffer.allocUnsafe(64 * 1024);

/** For each list an array: `field, value, field, value, …` of fields to set, the names of fields to remove. */
export function packFields(lists: readonly FieldList[]): Buffer {
  let at = packArray(lists.length, 0);
  for (const { sets, fields } of lists) {
    at = packArray(sets ? 2 * fields.length : fields.length, at);
    for (const { field, value } of fields) {
      at = packText(field, at);
      if (sets) at = packText(value!, at);
    }
  }
  return Buffer.from(scratch.subarray(0, at));
}

// Each writes at a place in `scratch`, and returns the place after it.

function packArray(count: number, at: number): number {
  makeRoom(headerBytes, at);
  return packHeader(array32, count, at);
}

function packText(text: string, at: number): number {
  // A UTF-16 unit takes at most three bytes.
  makeRoom(headerBytes + 3 * text.length, at);
  if (text.length <= shortTextMax && packShort(text, at)) return at + 1 + text.length;
  const length = scratch.write(text, at + headerBytes);
  return packHeader(text32, length, at) + length;
}

function packHeader(format: number, length: number, at: number): number {
  scratch[at] = format;
  return scratch.writeUInt32BE(length, at + 1);
}

function makeRoom(bytes: number, at: number): void {
  if (at + bytes <= scratch.length) return;
  const larger = Buffer.allocUnsafe(2 * (at + bytes));
  scratch.copy(larger, 0, 0, at);
  scratch = larger;
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
