import avro from 'avsc';
import { Cursor } from './avro-cursor.ts';

/** avsc's position in a buffer, as its types use it. */
interface Tap {
  buf: Buffer;
  pos: number;
}

const avscMin = -(2 ** 52);
const avscMax = 2 ** 53 - 2;

const cursor = new Cursor();

/**
 * A long of any size: a bigint if it is not a safe integer. avsc doubles a negative number before it subtracts one, which is
 * inexact below -2^52 (-4503599627370497 would be written as 4503599627370496), and refuses 2^53 - 1, which is exact.
 */
class ExactLongType extends (avro.types.LongType as unknown as new () => {
  _write(tap: Tap, value: unknown): void;
}) {
  _read(tap: Tap): number | bigint {
    const value = cursor.set(tap.buf, tap.pos).long64();
    tap.pos = cursor.pos;
    return value;
  }

  override _write(tap: Tap, value: unknown): void {
    const isInexact = Number.isSafeInteger(value) && ((value as number) < avscMin || (value as number) > avscMax);
    if (isInexact || typeof value === 'bigint') writeBig(tap, BigInt(value as number | bigint));
    else super._write(tap, value);
  }
}

/** A number that is not a safe integer is a bigint: a revision may be in nanoseconds. */
function writeBig(tap: Tap, value: bigint): void {
  let rest = BigInt.asUintN(64, (value << 1n) ^ (value >> 63n));
  for (; rest > 0x7fn; rest >>= 7n) tap.buf[tap.pos++] = 0x80 | Number(rest & 0x7fn);
  tap.buf[tap.pos++] = Number(rest);
}

export const exactLongType = new ExactLongType() as unknown as avro.types.LongType;
