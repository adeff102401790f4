/** A power of two. */
const slotCount = 256;

interface Kept<V> {
  readonly hash: number;
  readonly bytes: Buffer;
  readonly start: number;
  readonly length: number;
  readonly value: V;
  readonly next: Kept<V> | null;
}

/**
 * Values by texts of one-byte characters as they stand in bytes. A text that comes again and again, such as a friend's
 * id night by night, is found by comparing bytes: making it anew, and its hash for a Map, costs twice as much.
 */
export class ByteMap<V> {
  readonly #slots = new Array<Kept<V> | null>(slotCount).fill(null);
  readonly #make: (text: string) => V;
  /** In the order of their first reading. */
  readonly values: V[] = [];
  /** Where the text that was read last ended. */
  end = 0;

  /** `make` is called once for each text. */
  constructor(make: (text: string) => V) {
    this.#make = make;
  }

  /** The value of the text from `start` to the first `stop`, or to the end. */
  valueAt(bytes: Buffer, start: number, stop: number): V {
    let hash = 0;
    let end = start;
    for (; end < bytes.length; end++) {
      const byte = bytes[end]!;
      if (byte === stop) break;
      hash = ((hash << 5) - hash + byte) | 0;
    }
    this.end = end;
    const slot = (hash ^ (hash >>> 16)) & (slotCount - 1);
    for (let kept = this.#slots[slot]!; kept !== null; kept = kept.next!) {
      if (kept.hash === hash && isSame(kept, bytes, start, end)) return kept.value;
    }
    const value = this.#make(bytes.toString('latin1', start, end));
    this.#slots[slot] = { hash, bytes, start, length: end - start, value, next: this.#slots[slot]! };
    this.values.push(value);
    return value;
  }
}

function isSame(kept: Kept<unknown>, bytes: Buffer, start: number, end: number): boolean {
  if (kept.length !== end - start) return false;
  for (let i = 0; i < kept.length; i++) if (kept.bytes[kept.start + i] !== bytes[start + i]) return false;
  return true;
}
