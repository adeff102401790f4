// 2^13 slots, 128 kB. A larger table evicts facts from the processor's cache: with 2^16 slots the fold took an eighth
// longer.
const slots = 1 << 13;

/**
 * Notices a revision lower than the one before of the same key, so that upstream can look into it
 * (docs/rules.md#revision). It keeps the keys seen last, not all: out-of-order publishing shows within moments, and ten
 * million relations should not cost a second copy of their revisions. Keys that share a slot replace each other, and
 * are never mistaken for each other.
 */
export class LastRevisions {
  /** A slot is two numbers: the key and its revision. They are adjacent, so one cache miss instead of two. */
  readonly #slots = new Float64Array(2 * slots);

  /** Whether this revision is lower than the last one seen of the key, which is two numbers below 2^26. */
  regressed(first: number, second: number, revision: number): boolean {
    // The pair itself, so it is exact. Plus one, because 0 is a free slot.
    const check = first * 2 ** 26 + second + 1;
    const slot = slotOf(first, second);
    const regressed = this.#slots[slot] === check && revision < this.#slots[slot + 1]!;
    this.#slots[slot] = check;
    this.#slots[slot + 1] = revision;
    return regressed;
  }
}

function slotOf(first: number, second: number): number {
  const hash = Math.imul(first, 0x9e3779b1) ^ Math.imul(second, 0x85ebca6b);
  return 2 * ((hash ^ (hash >>> 15)) & (slots - 1));
}
