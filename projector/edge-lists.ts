/**
 * Many sorted lists of small integers in one growing array: 4 bytes an entry and the slack of the size classes. Each
 * entry is an id (up to 2^28) with four bits of its own; an entry whose bits are all zero is no entry.
 */

// Block sizes in entries, two to a doubling: on random lengths about a sixth of the space is slack.
const sizes: number[] = [1, 2, 3, 4];
while (sizes.at(-1)! < 2 ** 30) sizes.push(sizes.at(-2)! * 2);
const none = 0xff;

export class EdgeLists {
  /** Order of ids within a list; by number where none is given. */
  readonly #compare: (a: number, b: number) => number;
  #entries = new Uint32Array(1024);
  #used = 0;
  #starts = new Uint32Array(256);
  #lengths = new Uint32Array(256);
  #classes = new Uint8Array(256).fill(none);
  readonly #free: number[][] = sizes.map(() => []);

  constructor(compare: (a: number, b: number) => number = (a, b) => a - b) {
    this.#compare = compare;
  }

  /** Entries of a list. */
  length(list: number): number {
    return this.#lengths[list] ?? 0;
  }

  id(list: number, index: number): number {
    return this.#entries[this.#starts[list]! + index]! >>> 4;
  }

  bits(list: number, index: number): number {
    return this.#entries[this.#starts[list]! + index]! & 15;
  }

  /** Bits of an id in a list; 0 where it isn't there. */
  get(list: number, id: number): number {
    const index = this.lowerBound(list, id);
    return index < this.length(list) && this.id(list, index) === id ? this.bits(list, index) : 0;
  }

  /** First index whose id does not come before the given one. */
  lowerBound(list: number, id: number): number {
    return this.firstIndex(list, (other) => this.#compare(other, id) >= 0);
  }

  /** First index whose id is `reached`, for a test that stays true once true. */
  firstIndex(list: number, reached: (id: number) => boolean): number {
    let low = 0;
    let high = this.length(list);
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (reached(this.id(list, middle))) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /** Sets an id's bits, and returns what they were; 0 removes it. */
  set(list: number, id: number, bits: number): number {
    this.#reserveList(list);
    const index = this.lowerBound(list, id);
    const length = this.#lengths[list]!;
    const before = index < length && this.id(list, index) === id ? this.bits(list, index) : 0;
    if (before === bits) return before;
    if (bits === 0) this.#remove(list, index);
    else if (before === 0) this.#insert(list, index, id * 16 + bits);
    else this.#entries[this.#starts[list]! + index] = id * 16 + bits;
    return before;
  }

  /** Bytes held, slack included. */
  get bytes(): number {
    return this.#entries.byteLength + this.#starts.byteLength + this.#lengths.byteLength + this.#classes.byteLength;
  }

  #insert(list: number, index: number, entry: number): void {
    const length = this.#lengths[list]!;
    const sizeClass = this.#classes[list]!;
    if (sizeClass === none || length === sizes[sizeClass]) this.#move(list, sizeClass === none ? 0 : sizeClass + 1);
    const start = this.#starts[list]!;
    // Mostly at the end: nothing to move then.
    if (index < length) this.#entries.copyWithin(start + index + 1, start + index, start + length);
    this.#entries[start + index] = entry;
    this.#lengths[list] = length + 1;
  }

  #remove(list: number, index: number): void {
    const start = this.#starts[list]!;
    const length = this.#lengths[list]! - 1;
    this.#entries.copyWithin(start + index, start + index + 1, start + length + 1);
    this.#lengths[list] = length;
    const sizeClass = this.#classes[list]!;
    if (length === 0) {
      this.#free[sizeClass]!.push(start);
      this.#classes[list] = none;
    } else if (sizeClass >= 4 && length <= sizes[sizeClass - 3]!) this.#move(list, sizeClass - 2);
  }

  #move(list: number, sizeClass: number): void {
    // First of all: making room moves blocks.
    const start = this.#free[sizeClass]!.pop() ?? this.#extend(sizes[sizeClass]!);
    const old = this.#classes[list]!;
    if (old !== none) {
      const from = this.#starts[list]!;
      this.#entries.copyWithin(start, from, from + this.#lengths[list]!);
      this.#free[old]!.push(from);
    }
    this.#starts[list] = start;
    this.#classes[list] = sizeClass;
  }

  #extend(count: number): number {
    if (this.#used + count > this.#entries.length) this.#makeRoom(count);
    const start = this.#used;
    this.#used += count;
    return start;
  }

  /** Moves all blocks together into a larger array: what lists left behind when they grew is room again. */
  #makeRoom(count: number): void {
    let live = 0;
    for (const sizeClass of this.#classes) if (sizeClass !== none) live += sizes[sizeClass]!;
    // An eighth more than needed: doubling would waste up to half.
    const entries = new Uint32Array(live + count + Math.max(1024, live >> 3));
    let used = 0;
    for (let list = 0; list < this.#classes.length; list++) {
      const sizeClass = this.#classes[list]!;
      if (sizeClass === none) continue;
      const from = this.#starts[list]!;
      const length = this.#lengths[list]!;
      if (length < 32) for (let i = 0; i < length; i++) entries[used + i] = this.#entries[from + i]!;
      else entries.set(this.#entries.subarray(from, from + length), used);
      this.#starts[list] = used;
      used += sizes[sizeClass]!;
    }
    this.#entries = entries;
    this.#used = used;
    for (const free of this.#free) free.length = 0;
  }

  #reserveList(list: number): void {
    const before = this.#starts.length;
    if (list < before) return;
    const after = Math.max(list + 1, before + (before >> 2));
    this.#starts = grow(this.#starts, after);
    this.#lengths = grow(this.#lengths, after);
    const classes = new Uint8Array(after).fill(none);
    classes.set(this.#classes);
    this.#classes = classes;
  }
}

function grow(array: Uint32Array<ArrayBuffer>, length: number): Uint32Array<ArrayBuffer> {
  const grown = new Uint32Array(length);
  grown.set(array);
  return grown;
}
