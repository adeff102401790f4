/**
 * Numbers texts in order of arrival. No number reaches bytes or an order: they differ between processes.
 *
 * Open addressing in one array of integers: a Map of as many texts as a large city has riders is slow to grow and to
 * collect, and holds 2^24 entries at most.
 */
export class Interner {
  readonly #texts: string[] = [];
  /** A text's number and one; 0 where the slot is free. Never more than half full. */
  #slots = new Int32Array(1024);

  get size(): number {
    return this.#texts.length;
  }

  /** The text's number, or -1. */
  find(text: string): number {
    return this.#slots[this.#slotOf(text)]! - 1;
  }

  /** The text's number, a new one if need be. */
  add(text: string): number {
    const slot = this.#slotOf(text);
    const found = this.#slots[slot]! - 1;
    if (found >= 0) return found;
    const id = this.#texts.length;
    this.#texts.push(text);
    this.#slots[slot] = id + 1;
    if (2 * this.#texts.length > this.#slots.length) this.#grow();
    return id;
  }

  text(id: number): string {
    return this.#texts[id]!;
  }

  /** The slot that holds the text, or the free one where it belongs. */
  #slotOf(text: string): number {
    const mask = this.#slots.length - 1;
    for (let slot = hashOf(text) & mask; ; slot = (slot + 1) & mask) {
      const found = this.#slots[slot]!;
      if (found === 0 || this.#texts[found - 1] === text) return slot;
    }
  }

  #grow(): void {
    this.#slots = new Int32Array(4 * this.#slots.length);
    this.#texts.forEach((text, id) => {
      this.#slots[this.#slotOf(text)] = id + 1;
    });
  }
}

/** FNV-1a over UTF-16 units, stirred: its low bits alone pick a slot. */
function hashOf(text: string): number {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  return h ^ (h >>> 15);
}
