import avro from 'avsc';

/** avsc's position in a buffer, as its types use it. */
interface Tap {
  buf: Buffer;
  pos: number;
}

const avscMin = -(2 ** 52);
const avscMax = 2 ** 53 - 2;

/**
 * A long for writing. avsc doubles a negative number before it subtracts one, which is inexact below -2^52
 * (-4503599627370497 would be written as 4503599627370496), and refuses 2^53 - 1, which is exact.
 */
class ExactLongType extends (avro.types.LongType as unknown as new () => {
  _write(tap: Tap, value: unknown): void;
}) {
  override _write(tap: Tap, value: unknown): void {
    if (typeof value === 'bigint') {
      writeBig(tap, value);
      return;
    }
    const isLong = typeof value === 'number' && Number.isSafeInteger(value);
    if (!isLong || (value >= avscMin && value <= avscMax)) {
      super._write(tap, value);
      return;
    }
    const magnitude = value < 0 ? -(value + 1) : value;
    tap.buf[tap.pos++] = 0x80 | ((magnitude % 64) * 2) | (value < 0 ? 1 : 0);
    let rest = Math.floor(magnitude / 64);
    for (; rest > 0x7f; rest = Math.floor(rest / 128)) tap.buf[tap.pos++] = 0x80 | (rest % 128);
    tap.buf[tap.pos++] = rest;
  }
}

/** A number that is not a safe integer is a bigint: a revision may be in nanoseconds. */
function writeBig(tap: Tap, value: bigint): void {
  let rest = BigInt.asUintN(64, (value << 1n) ^ (value >> 63n));
  for (; rest > 0x7fn; rest >>= 7n) tap.buf[tap.pos++] = 0x80 | Number(rest & 0x7fn);
  tap.buf[tap.pos++] = Number(rest);
}

export const exactLongType = new ExactLongType() as unknown as avro.types.LongType;
