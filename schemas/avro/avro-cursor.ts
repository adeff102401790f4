import { isUtf8 } from 'node:buffer';
import { type UndecodableError, undecodable } from './undecodable.ts';

const truncated = undecodable('undecodable value');
const outOfRange = undecodable('number out of range');
const notUtf8 = undecodable('text is not UTF-8');
const tooManySteps = undecodable('too many steps to decode');
const tooDeep = undecodable('nested too deeply');
const empty = Buffer.alloc(0);

/**
 * What `toString('utf8', …)` calls in the end, after handling its arguments, which takes a fifth of a whole record's
 * time. Undocumented, but as old as Node, and avsc relies on it too.
 */
interface SliceableBuffer extends Buffer {
  utf8Slice(start: number, end: number): string;
}

/** Room for so many texts at first. Only rides with many leaders have more. */
const placesAtFirst = 8;

/**
 * How many records and zero-byte items one value may contain: so many, and eight more for each byte that was read
 * (docs/rules.md#what-is-bad). Otherwise a few bytes could stand for billions of them: a list of empty records, say.
 */
const stepsMax = 1 << 17;
const stepsPerByte = 8;

/**
 * How deep records of a recursive type may be nested (docs/rules.md#what-is-bad). The stack's own limit differs from process
 * to process, so the same record would be good here and bad there.
 */
const depthMax = 500;

/**
 * Decodes Avro's binary encoding (specification 1.12, "Binary encoding") from a buffer, strictly: data that is cut off,
 * out of range or not UTF-8 throws an UndecodableError. Bytes beyond the buffer read as `undefined`, which counts as 0
 * and so ends a number. So the position is checked after a number, not before each byte.
 */
export class Cursor {
  buf: Buffer = empty;
  pos = 0;
  end = 0;
  /** The positions of the texts that `place` skipped since `set`: the start and end of each. */
  places = new Int32Array(2 * placesAtFirst);
  /** The field that a traced decoder is at. */
  field = '';
  #placed = 0;
  #start = 0;
  #steps = 0;
  #depth = 0;

  /** Moves to `pos` of a buffer, where one value begins. The buffer may be read up to its end. */
  set(buf: Buffer, pos: number): this {
    this.buf = buf;
    this.pos = pos;
    this.end = buf.length;
    this.#placed = 0;
    this.#start = pos;
    this.#steps = 0;
    this.#depth = 0;
    return this;
  }

  /** Allows four billion steps more, to find where a value ends: whether it takes too many is judged when it is decoded. */
  withMoreSteps(): this {
    this.#steps = -(2 ** 32);
    return this;
  }

  /** Call before the fields of a record, unless all of them are plain. */
  enter(): void {
    if (++this.#depth > depthMax) throw tooDeep;
    this.#step(1);
  }

  /** Call after the fields of a record. */
  leave(): void {
    this.#depth--;
  }

  #step(count: number): void {
    this.#steps += count;
    if (this.#steps > stepsMax && this.#steps > stepsMax + stepsPerByte * (this.pos - this.#start)) throw tooManySteps;
  }

  boolean(): boolean {
    const byte = this.buf[this.pos++];
    if (byte === 1) return true;
    if (byte === 0) return false;
    throw truncated;
  }

  /** A zigzag number of 32 bits. */
  int(): number {
    const buf = this.buf;
    let pos = this.pos;
    let byte = buf[pos++]!;
    let n = byte & 0x7f;
    if (byte > 0x7f) {
      let shift = 7;
      do {
        byte = buf[pos++]!;
        n |= (byte & 0x7f) << shift;
        shift += 7;
      } while (byte > 0x7f && shift < 35);
      if (shift === 35 && byte > 0x0f) throw outOfRange;
    }
    if (pos > this.end) throw truncated;
    this.pos = pos;
    return (n >>> 1) ^ -(n & 1);
  }

  /** A zigzag number of 64 bits that is a safe integer in JavaScript. */
  long(): number {
    const buf = this.buf;
    let pos = this.pos;
    let byte = buf[pos++]!;
    let low = byte & 0x7f;
    let shift = 7;
    while (byte > 0x7f && shift < 28) {
      byte = buf[pos++]!;
      low |= (byte & 0x7f) << shift;
      shift += 7;
    }
    if (byte > 0x7f) {
      this.pos = pos;
      return this.#longOver28Bits(low);
    }
    if (pos > this.end) throw truncated;
    this.pos = pos;
    return (low >>> 1) ^ -(low & 1);
  }

  /** A zigzag number of 64 bits. A bigint if it is not a safe integer. */
  long64(): number | bigint {
    const start = this.pos;
    try {
      return this.long();
    } catch (cause) {
      if (cause !== outOfRange) throw cause;
      this.pos = start;
      return this.#bigLong();
    }
  }

  #bigLong(): bigint {
    let n = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      if (this.pos >= this.end) throw truncated;
      const byte = this.buf[this.pos++]!;
      n |= BigInt(byte & 0x7f) << shift;
      if (byte > 0x7f) continue;
      if (n >= 2n ** 64n) throw outOfRange;
      return (n >> 1n) ^ -(n & 1n);
    }
    throw truncated;
  }

  #longOver28Bits(low: number): number {
    const buf = this.buf;
    let pos = this.pos;
    let high = 0;
    let shift = 0;
    let byte: number;
    do {
      byte = buf[pos++]!;
      high |= (byte & 0x7f) << shift;
      shift += 7;
    } while (byte > 0x7f && shift < 28);
    // Two more bytes are allowed, but whatever they add is beyond 2^53.
    for (let more = 0; byte > 0x7f; more++) {
      if (more === 2) throw truncated;
      byte = buf[pos++]!;
      if ((byte & 0x7f) !== 0) throw outOfRange;
    }
    if (pos > this.end) throw truncated;
    this.pos = pos;
    // The sign bit is removed first, because twice the number would not be exact.
    const magnitude = (low >>> 1) + high * 0x8000000;
    const value = low & 1 ? -magnitude - 1 : magnitude;
    if (!Number.isSafeInteger(value)) throw outOfRange;
    return value;
  }

  string(): string {
    const start = this.#take(this.long());
    return this.#text(start, this.pos);
  }

  #text(start: number, end: number): string {
    const text = (this.buf as SliceableBuffer).utf8Slice(start, end);
    // Invalid bytes are decoded as U+FFFD. Only texts that contain it are checked again, because it may be what was
    // written.
    if (text.includes('\uFFFD') && !isUtf8(this.buf.subarray(start, end))) throw notUtf8;
    return text;
  }

  /** Leaves a text in place without checking it. Returns its index in `places`. */
  place(): number {
    return this.placeFrom(this.#take(this.long()));
  }

  /** Like `place`, for everything from `start` to the cursor. */
  placeFrom(start: number): number {
    const place = 2 * this.#placed++;
    if (place === this.places.length) this.#growPlaces();
    this.places[place] = start;
    this.places[place + 1] = this.pos;
    return place;
  }

  #growPlaces(): void {
    const places = new Int32Array(2 * this.places.length);
    places.set(this.places);
    this.places = places;
  }

  /** The text at a place. Throws UndecodableError if it is not UTF-8. */
  textAt(place: number): string {
    return this.#text(this.places[place]!, this.places[place + 1]!);
  }

  bytes(): Buffer {
    return this.fixed(this.long());
  }

  /** A copy, so that it does not keep the whole buffer alive. */
  fixed(length: number): Buffer {
    const pos = this.#take(length);
    return Buffer.from(this.buf.subarray(pos, this.pos));
  }

  /** `symbols` by the writer's index. Null for a symbol that the reader's enum lacks, which throws `refusal`. */
  symbol(symbols: readonly (string | null)[], refusal: UndecodableError): string {
    const symbol = symbols[this.int()];
    if (symbol === undefined) throw truncated;
    if (symbol === null) throw refusal;
    return symbol;
  }

  /** The number of items in the next block of an array or map. 0 at its end. Each zero-byte item is a step. */
  blockCount(itemsTakeBytes: boolean): number {
    let count = this.long();
    if (count < 0) {
      count = -count;
      if (this.long() < 0) throw truncated;
    }
    if (!itemsTakeBytes) this.#step(count);
    return count;
  }

  skip(length: number): void {
    this.#take(length);
  }

  /** Skips a number of up to 64 bits, also one that is not a safe integer. */
  skipNumber(): void {
    for (let bytes = 1; this.buf[this.pos++]! > 0x7f; bytes++) if (bytes === 10) throw truncated;
    if (this.pos > this.end) throw truncated;
  }

  /** Moves over `length` bytes. Returns where they begin. */
  #take(length: number): number {
    const pos = this.pos;
    if (length < 0 || length > this.end - pos) throw truncated;
    this.pos = pos + length;
    return pos;
  }
}
