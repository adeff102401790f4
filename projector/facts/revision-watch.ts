// 2^14 slots, 256 kB. A larger table evicts facts from the processor's cache: with 2^16 slots the fold took an eighth
// longer.
const slots = 1 << 14;
// Up to so many keys need no table: most topics of a small log have no more.
const fewMax = 256;

/**
 * Notices a revision lower than the one before of the same key, so that upstream can look into it
 * (docs/rules.md#revision). It keeps the keys seen last, not all: out-of-order publishing shows within moments, and ten
 * million relations should not cost a second copy of their revisions. Keys that share a slot replace each other, and
 * are never mistaken for each other.
 */
export class RevisionWatch {
  /** A slot is two numbers: the key and its revision. They are adjacent, so one cache miss instead of two. */
  #slots: Float64Array | null = null;
  /** The revisions of the first keys, until there is a table. */
  readonly #few = new Map<number, number>();

  /** Whether this revision is lower than the last one seen of the key, which is two numbers below 2^26. */
  regressed(first: number, second: number, revision: number): boolean {
    // The check value is the pair itself, so it is exact.
    const check = first * 2 ** 26 + second;
    if (this.#slots !== null) return replaced(this.#slots, slotOf(first, second), check, revision);
    const seen = this.#few.get(check);
    this.#few.set(check, revision);
    if (this.#few.size > fewMax) this.#slots = this.#table();
    return seen !== undefined && revision < seen;
  }

  #table(): Float64Array {
    const table = new Float64Array(2 * slots);
    for (const [check, revision] of this.#few) {
      replaced(table, slotOf(Math.floor(check / 2 ** 26), check % 2 ** 26), check, revision);
    }
    this.#few.clear();
    return table;
  }
}

function slotOf(first: number, second: number): number {
  const hash = Math.imul(first, 0x9e3779b1) ^ Math.imul(second, 0x85ebca6b);
  return 2 * ((hash ^ (hash >>> 15)) & (slots - 1));
}

/** Puts a key into its slot. Whether its revision is lower than the one there. */
function replaced(table: Float64Array, slot: number, check: number, revision: number): boolean {
  // Plus one, because 0 is a free slot.
  const regressed = table[slot] === check + 1 && revision < table[slot + 1]!;
  table[slot] = check + 1;
  table[slot + 1] = revision;
  return regressed;
}
