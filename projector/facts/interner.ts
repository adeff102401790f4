import { tagOf, tagOfBytes } from '../../schemas/views/view-keys.ts';

/**
 * Numbers texts in the order of arrival. A number is in no stored byte and decides no order, because numbers differ
 * between processes.
 *
 * The texts are stored as UTF-8, one after another, in one array of bytes, and found by open addressing. A large city
 * has so many riders that a Map of strings would be slow to grow and to collect. Also, a text in a record's bytes can
 * be looked up without decoding it.
 */
export class Interner<N extends number = number> {
  #bytes = Buffer.allocUnsafe(4096);
  #used = 0;
  /**
   * Four words a text: its start, its length and two hashes, which are the same in every process. They are adjacent, so
   * one cache miss instead of three.
   */
  #texts = new Int32Array(1024);
  #size = 0;
  /** A text's number plus one. 0 is a free slot. At most half of the slots are used. */
  #slots = new Int32Array(512);
  /** Tags, by number, once they were asked for: a fan-out asks for those of all watchers many times. */
  #tags = new Uint8Array(0);

  /** The text's number, or -1. */
  find(text: string): N {
    const end = write(text);
    return this.findBytes(scratch, 0, end);
  }

  /** The same for a text between two positions in bytes. */
  findBytes(from: Buffer, start: number, end: number): N {
    return (this.#slots[this.#slotOf(from, start, end)]! - 1) as N;
  }

  /** The text's number. Adds the text if it is new. */
  add(text: string): N {
    const end = write(text);
    return this.addBytes(scratch, 0, end);
  }

  /** The same for a text between two positions in bytes, which is valid UTF-8. */
  addBytes(from: Buffer, start: number, end: number): N {
    const slot = this.#slotOf(from, start, end);
    const found = this.#slots[slot]! - 1;
    return (found >= 0 ? found : this.#append(slot, from, start, end)) as N;
  }

  /** All numbers given out. */
  *numbers(): Generator<N> {
    for (let id = 0; id < this.#size; id++) yield id as N;
  }

  text(id: N): string {
    const begin = this.#texts[4 * id]! >>> 0;
    return this.#bytes.toString('utf8', begin, begin + this.#texts[4 * id + 1]!);
  }

  /** The tag of the text (view-keys.ts), computed once. */
  tag(id: N): number {
    if (id >= this.#tags.length) this.#tags = grown(this.#tags, new Uint8Array(roomFor(this.#size)).fill(unknownTag));
    if (this.#tags[id] === unknownTag) this.#tags[id] = this.#tagOf(id);
    return this.#tags[id]!;
  }

  /** Decodes no ASCII text: a compare asks for the tag of every text, to find missing views. */
  #tagOf(id: N): number {
    const begin = this.#texts[4 * id]! >>> 0;
    const tag = tagOfBytes(this.#bytes, begin, begin + this.#texts[4 * id + 1]!);
    return tag >= 0 ? tag : tagOf(this.text(id));
  }

  /** One of two words of 32 bits that say which text it is, whatever its number: for the sum of facts. */
  hash(id: N, word: 0 | 1): number {
    return this.#texts[4 * id + 2 + word]!;
  }

  #append(slot: number, from: Buffer, start: number, end: number): number {
    const id = this.#size++;
    const begin = this.#used;
    this.#used += end - start;
    if (this.#used > this.#bytes.length) this.#bytes = grown(this.#bytes, Buffer.allocUnsafe(roomFor(this.#used)));
    if (4 * id === this.#texts.length) this.#texts = grown(this.#texts, new Int32Array(4 * roomFor(id)));
    for (let i = start; i < end; i++) this.#bytes[begin + i - start] = from[i]!;
    const texts = this.#texts;
    texts[4 * id] = begin;
    texts[4 * id + 1] = end - start;
    texts[4 * id + 2] = hashOf(from, start, end);
    texts[4 * id + 3] = otherHashOf(from, start, end);
    this.#slots[slot] = id + 1;
    if (2 * this.#size > this.#slots.length) this.#growSlots();
    return id;
  }

  /** The slot of the text, or the free slot where it belongs. */
  #slotOf(from: Buffer, start: number, end: number): number {
    const hash = hashOf(from, start, end);
    const mask = this.#slots.length - 1;
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const found = this.#slots[slot]!;
      if (found === 0 || this.#is(found - 1, hash, from, start, end)) return slot;
    }
  }

  #is(id: number, hash: number, from: Buffer, start: number, end: number): boolean {
    const texts = this.#texts;
    const text = 4 * id;
    if (texts[text + 2] !== hash || texts[text + 1] !== end - start) return false;
    const bytes = this.#bytes;
    for (let i = start, j = texts[text]! >>> 0; i < end; i++, j++) if (from[i] !== bytes[j]) return false;
    return true;
  }

  #growSlots(): void {
    this.#slots = new Int32Array(2 * this.#slots.length);
    const mask = this.#slots.length - 1;
    for (let id = 0; id < this.#size; id++) {
      let slot = this.#texts[4 * id + 2]! & mask;
      while (this.#slots[slot] !== 0) slot = (slot + 1) & mask;
      this.#slots[slot] = id + 1;
    }
  }
}

const unknownTag = 0xff;

/** A quarter more than is needed now. */
const roomFor = (needed: number): number => needed + (needed >> 2) + 256;

function grown<A extends Uint8Array | Int32Array>(from: A, to: A): A {
  to.set(from);
  return to;
}

let scratch = Buffer.allocUnsafe(256);

/** Writes a text's UTF-8 into `scratch`. Returns its length. */
function write(text: string): number {
  // A UTF-16 unit takes at most three bytes.
  if (3 * text.length > scratch.length) scratch = Buffer.allocUnsafe(3 * text.length);
  // Ids are ASCII. For them, calling the encoder would take longer.
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit > 0x7f) return scratch.write(text);
    scratch[i] = unit;
  }
  return text.length;
}

/** FNV-1a over bytes, then mixed, because only the low bits select a slot. */
function hashOf(from: Buffer, start: number, end: number): number {
  let h = 0x811c9dc5;
  for (let i = start; i < end; i++) h = Math.imul(h ^ from[i]!, 0x01000193);
  return h ^ (h >>> 15);
}

/** Another hash of the same bytes. It also rotates, so that its low bits are independent of those of FNV-1a. */
function otherHashOf(from: Buffer, start: number, end: number): number {
  let h = 0x9747b28c;
  for (let i = start; i < end; i++) h = Math.imul(((h << 5) | (h >>> 27)) ^ from[i]!, 0x9e3779b1);
  return h ^ (h >>> 16);
}
