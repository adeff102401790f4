import { gunzipSync, zstdDecompressSync } from 'node:zlib';

/** The index is the codec's number in a batch's header. */
export const codecNames = ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const;

/** Bytes that would unpack to more than is allowed. */
export class TooLargeError extends Error {
  override name = 'TooLargeError';
}

/**
 * Unpacks what a producer compressed. No more than `bytesMax` is ever unpacked: 80 kB of zstd can hold 800 MB of zeros.
 * Throws TooLargeError, and other errors for bytes that are not of the codec. The client library's own snappy and LZ4 have
 * no limit, and keep the WebAssembly memory that they once took.
 */
export function decompress(codec: number, bytes: Buffer, bytesMax: number): Buffer {
  switch (codecNames[codec]) {
    case 'none':
      return bytes;
    case 'gzip':
      return withinLimit(() => gunzipSync(bytes, { maxOutputLength: bytesMax }));
    case 'zstd':
      return withinLimit(() => zstdDecompressSync(bytes, { maxOutputLength: bytesMax }));
    case 'snappy':
      return unsnap(bytes, bytesMax);
    case 'lz4':
      return unpackLz4Frame(bytes, bytesMax);
    default:
      throw new Error(`its compression has the unknown number ${codec}`);
  }
}

function withinLimit(unpack: () => Buffer): Buffer {
  try {
    return unpack();
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE' ? new TooLargeError() : error;
  }
}

/** For so few bytes a loop is faster than a call that copies. */
const shortBytesMax = 32;

/** What is unpacked so far. LZ4 and snappy have two instructions: append these bytes, or repeat earlier ones. */
class Output {
  readonly #bytesMax: number;
  #bytes: Buffer;
  #length = 0;

  constructor(capacity: number, bytesMax: number) {
    this.#bytesMax = bytesMax;
    this.#bytes = Buffer.allocUnsafe(Math.min(capacity, bytesMax));
  }

  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  append(from: Buffer, start: number, length: number): void {
    if (start + length > from.length) throw cutOff();
    const at = this.#extend(length);
    const bytes = this.#bytes;
    if (length > shortBytesMax) from.copy(bytes, at, start, start + length);
    else for (let i = 0; i < length; i++) bytes[at + i] = from[start + i]!;
  }

  /** Appends what begins `distance` bytes back. It may overlap what it appends: a distance of 1 repeats one byte. */
  repeat(distance: number, length: number): void {
    if (distance < 1 || distance > this.#length) throw new Error('it refers to what is not there');
    let at = this.#extend(length);
    const from = at - distance;
    const bytes = this.#bytes;
    if (length <= shortBytesMax) {
      for (let i = 0; i < length; i++) bytes[at + i] = bytes[from + i]!;
      return;
    }
    // Each copy doubles what there is to copy from.
    for (let left = length; left > 0; ) {
      const count = Math.min(left, at - from);
      bytes.copyWithin(at, from, from + count);
      at += count;
      left -= count;
    }
  }

  /** Makes room at the end. Returns where it begins. */
  #extend(length: number): number {
    const at = this.#length;
    const needed = at + length;
    if (needed > this.#bytesMax) throw new TooLargeError();
    if (needed > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(Math.min(this.#bytesMax, Math.max(needed, 2 * this.#bytes.length)));
      this.#bytes.copy(larger, 0, 0, at);
      this.#bytes = larger;
    }
    this.#length = needed;
    return at;
  }
}

const cutOff = (): Error => new Error('it is cut off');

const xerialMagic = Buffer.from('\x82SNAPPY\0', 'latin1');
/** The magic, and two version numbers. */
const xerialHeaderBytes = 16;

/** Snappy, in one piece (librdkafka) or in chunks with a length before each (xerial's format, which Java writes). */
function unsnap(bytes: Buffer, bytesMax: number): Buffer {
  const output = new Output(4 * bytes.length, bytesMax);
  if (!bytes.subarray(0, xerialMagic.length).equals(xerialMagic)) {
    unsnapPiece(bytes, output);
    return output.bytes;
  }
  for (let at = xerialHeaderBytes; at < bytes.length; ) {
    const start = at + 4;
    at = start + bytes.readUInt32BE(at);
    if (at > bytes.length) throw cutOff();
    unsnapPiece(bytes.subarray(start, at), output);
  }
  return output.bytes;
}

/** A length, then elements. An element's lowest two bits say whether bytes follow, or how many bytes its distance has. */
function unsnapPiece(bytes: Buffer, output: Output): void {
  let at = 0;
  // The length is not needed: the limit is checked as the bytes come.
  while (bytes[at++]! >= 0x80);
  while (at < bytes.length) {
    const tag = bytes[at++]!;
    const kind = tag & 3;
    if (kind === 0) {
      let length = tag >>> 2;
      if (length >= 60) {
        const lengthBytes = length - 59;
        length = bytes.readUIntLE(at, lengthBytes);
        at += lengthBytes;
      }
      output.append(bytes, at, length + 1);
      at += length + 1;
    } else if (kind === 1) {
      output.repeat(((tag >>> 5) << 8) | bytes.readUInt8(at), ((tag >>> 2) & 7) + 4);
      at += 1;
    } else {
      const distanceBytes = kind === 2 ? 2 : 4;
      output.repeat(bytes.readUIntLE(at, distanceBytes), (tag >>> 2) + 1);
      at += distanceBytes;
    }
  }
}

const lz4Magic = 0x184d2204;
// Flags in an LZ4 frame's descriptor.
const hasBlockChecksums = 1 << 4;
const hasContentSize = 1 << 3;
const hasDictionaryId = 1;
const isUncompressed = 0x80000000;

/** An LZ4 frame: magic, descriptor, blocks until one of length 0. Its checksums are ignored: the batch has its own. */
function unpackLz4Frame(bytes: Buffer, bytesMax: number): Buffer {
  if (bytes.readUInt32LE(0) !== lz4Magic) throw new Error('it is no LZ4 frame');
  const flags = bytes.readUInt8(4);
  // Magic, flags and block size; the optional fields; and the descriptor's checksum.
  let at = 7 + (flags & hasContentSize ? 8 : 0) + (flags & hasDictionaryId ? 4 : 0);
  const output = new Output(4 * bytes.length, bytesMax);
  for (;;) {
    const size = bytes.readUInt32LE(at);
    if (size === 0) return output.bytes;
    const start = at + 4;
    const end = start + (size % isUncompressed);
    if (end > bytes.length) throw cutOff();
    if (size >= isUncompressed) output.append(bytes, start, end - start);
    else unpackLz4Block(bytes.subarray(start, end), output);
    at = end + (flags & hasBlockChecksums ? 4 : 0);
  }
}

/** A block is a row of sequences: bytes to append, then bytes to repeat. The last one has only bytes to append. */
function unpackLz4Block(bytes: Buffer, output: Output): void {
  let at = 0;
  const lengthFrom = (start: number): number => {
    let length = start;
    if (start < 15) return length;
    for (;;) {
      const more = bytes.readUInt8(at++);
      length += more;
      if (more < 255) return length;
    }
  };
  while (at < bytes.length) {
    const token = bytes[at++]!;
    const literals = lengthFrom(token >>> 4);
    output.append(bytes, at, literals);
    at += literals;
    if (at === bytes.length) return;
    const distance = bytes.readUInt16LE(at);
    at += 2;
    output.repeat(distance, lengthFrom(token & 15) + 4);
  }
}
