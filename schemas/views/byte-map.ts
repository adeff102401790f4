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
 * A map whose keys are texts within buffers, one byte per character. A friend's id comes again night by night: finding its
 * value by comparing bytes takes half the time of making a string for a Map.
 */
export class ByteMap<V> {
  readonly #slots = new Array<Kept<V> | null>(slotCount).fill(null);
  readonly #make: (text: string) => V;
  /** In the order in which their texts were first met. */
  readonly values: V[] = [];
  /** Where the last text ended. */
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
