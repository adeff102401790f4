// 2^18 slots of a key's hash and its revision: 4 MB.
const slots = 1 << 18;

/**
 * Notices a revision lower than the one before of the same key, for upstream to look into (DESIGN §2, Order). It
 * remembers the keys seen last, not all: out-of-order publishing shows within moments, and ten million relations should
 * not cost a second copy of their revisions. Two keys that share a slot forget one another; they are never mixed up.
 */
export class RevisionWatch {
  readonly #checks = new Int32Array(slots);
  readonly #revisions = new Float64Array(slots);

  /** Whether this revision is lower than the last one seen of the key. */
  fell(key: string, revision: number): boolean {
    let a = 0x811c9dc5;
    let b = 0x9747b28c;
    for (let i = 0; i < key.length; i++) {
      const unit = key.charCodeAt(i);
      a = Math.imul(a ^ unit, 0x01000193);
      b = Math.imul(b ^ unit, 0x5bd1e995);
    }
    const slot = (a ^ (a >>> 15)) & (slots - 1);
    const check = b ^ (b >>> 13) || 1;
    const fell = this.#checks[slot] === check && revision < this.#revisions[slot]!;
    this.#checks[slot] = check;
    this.#revisions[slot] = revision;
    return fell;
  }
}
