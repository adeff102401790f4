/**
 * Many sorted lists of small integers in one growing array: 4 bytes an entry, plus the slack of the size classes. Each
 * entry is an id (below 2^28) and four bits. An entry whose bits are all zero does not exist.
 */

// Block sizes in entries, two per doubling. With random lengths about a sixth of the space is slack.
const sizes: number[] = [1, 2, 3, 4];
while (sizes.at(-1)! < 2 ** 26) sizes.push(sizes.at(-2)! * 2);
// A list's size class is stored with its length, in six bits. So a list has fewer than 2^26 entries.
const none = 63;
// Up to this many entries are moved one by one. For so few, a call that moves them all takes longer.
const fewEntries = 32;
// Up to this size the array doubles. Beyond it, doubling would waste up to half.
const doubledBelow = 1 << 20;

export class EdgeLists<List extends number = number, Id extends number = number> {
  #entries = new Uint32Array(1024);
  #used = 0;
  /**
   * Two numbers per list: its start; its length and size class. They are adjacent, so one cache miss instead of two.
   */
  #lists = new Uint32Array(512).fill(none);
  readonly #free: number[][] = sizes.map(() => []);

  /** Order of ids within a list: by number, unless a subclass overrides this. */
  protected compare(a: Id, b: Id): number {
    return a - b;
  }

  length(list: List): number {
    return (this.#lists[2 * list + 1] ?? none) >>> 6;
  }

  id(list: List, index: number): Id {
    return (this.#entries[this.#lists[2 * list]! + index]! >>> 4) as Id;
  }

  bits(list: List, index: number): number {
    return this.#entries[this.#lists[2 * list]! + index]! & 15;
  }

  /** The bits of an id in a list. 0 if it is not there. */
  get(list: List, id: Id): number {
    const index = this.lowerBound(list, id);
    return index < this.length(list) && this.id(list, index) === id ? this.bits(list, index) : 0;
  }

  /** The first index whose id is not before the given one. */
  lowerBound(list: List, id: Id): number {
    return this.firstIndex(list, (other) => this.compare(other, id) >= 0);
  }

  /** The first index whose id is `reached`. The test must stay true once it is true. */
  firstIndex(list: List, reached: (id: Id) => boolean): number {
    let low = 0;
    let high = this.length(list);
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (reached(this.id(list, middle))) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /** Sets an id's bits and returns the earlier ones. 0 removes the id. */
  set(list: List, id: Id, bits: number): number {
    if (2 * list >= this.#lists.length) this.#addLists(list);
    const place = this.#placeOf(list, id);
    const start = this.#lists[2 * list]!;
    const end = start + this.length(list);
    const found = place < end ? this.#entries[place]! : 0;
    const before = found >>> 4 === id ? found & 15 : 0;
    if (before === bits) return before;
    if (bits === 0) this.#remove(list, place);
    else if (before === 0) this.#insert(list, place - start, id * 16 + bits);
    else this.#entries[place] = id * 16 + bits;
    return before;
  }

  /** Bytes in use, slack included. */
  get bytes(): number {
    return this.#entries.byteLength + this.#lists.byteLength;
  }

  /**
   * Like lowerBound, but returns the entry's place, and searches from the list's end: most changes are about later
   * days.
   */
  #placeOf(list: List, id: Id): number {
    const start = this.#lists[2 * list]!;
    let high = start + this.length(list);
    let low = high;
    for (let step = 1; low > start; step *= 2) {
      low = Math.max(start, high - step);
      if (this.compare((this.#entries[low]! >>> 4) as Id, id) < 0) {
        low += 1;
        break;
      }
      high = low;
    }
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.compare((this.#entries[middle]! >>> 4) as Id, id) >= 0) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  #insert(list: List, index: number, entry: number): void {
    const lengthAndClass = this.#lists[2 * list + 1]!;
    const length = lengthAndClass >>> 6;
    const sizeClass = lengthAndClass & 63;
    if (sizeClass === none || length === sizes[sizeClass]) this.#move(list, sizeClass === none ? 0 : sizeClass + 1);
    const entries = this.#entries;
    const place = this.#lists[2 * list]! + index;
    const end = place - index + length;
    if (end - place > fewEntries) entries.copyWithin(place + 1, place, end);
    else for (let i = end; i > place; i--) entries[i] = entries[i - 1]!;
    entries[place] = entry;
    this.#lists[2 * list + 1]! += 64;
  }

  #remove(list: List, place: number): void {
    const start = this.#lists[2 * list]!;
    const sizeClass = this.#lists[2 * list + 1]! & 63;
    const length = this.length(list) - 1;
    this.#entries.copyWithin(place, place + 1, start + length + 1);
    this.#lists[2 * list + 1]! -= 64;
    if (length === 0) {
      this.#free[sizeClass]!.push(start);
      this.#lists[2 * list + 1] = none;
    } else if (sizeClass >= 4 && length <= sizes[sizeClass - 3]!) this.#move(list, sizeClass - 2);
  }

  /** Moves a list to a block of another size. */
  #move(list: List, sizeClass: number): void {
    // This comes first, because making room moves blocks.
    const start = this.#free[sizeClass]!.pop() ?? this.#extend(sizes[sizeClass]!);
    const length = this.length(list);
    const old = this.#lists[2 * list + 1]! & 63;
    if (old !== none) {
      const from = this.#lists[2 * list]!;
      copyEntries(this.#entries, from, this.#entries, start, length);
      this.#free[old]!.push(from);
    }
    this.#lists[2 * list] = start;
    this.#lists[2 * list + 1] = length * 64 + sizeClass;
  }

  #extend(count: number): number {
    if (this.#used + count > this.#entries.length) this.#makeRoom(count);
    const start = this.#used;
    this.#used += count;
    return start;
  }

  /** Moves all blocks together into a larger array, which reclaims the blocks that lists left when they grew. */
  #makeRoom(count: number): void {
    const lists = this.#lists;
    let live = 0;
    for (let i = 1; i < lists.length; i += 2) live += sizes[lists[i]! & 63] ?? 0;
    const room = Math.max(1024, live >> 3, Math.min(live, doubledBelow));
    const entries = new Uint32Array(live + count + room);
    let used = 0;
    for (let i = 0; i < lists.length; i += 2) {
      const sizeClass = lists[i + 1]! & 63;
      if (sizeClass === none) continue;
      copyEntries(this.#entries, lists[i]!, entries, used, lists[i + 1]! >>> 6);
      lists[i] = used;
      used += sizes[sizeClass]!;
    }
    this.#entries = entries;
    this.#used = used;
    for (const free of this.#free) free.length = 0;
  }

  #addLists(list: List): void {
    const before = this.#lists.length / 2;
    const lists = new Uint32Array(2 * Math.max(list + 1, before + (before >> 2))).fill(none);
    lists.set(this.#lists);
    this.#lists = lists;
  }
}

function copyEntries(from: Uint32Array, start: number, to: Uint32Array, place: number, length: number): void {
  if (length > fewEntries) to.set(from.subarray(start, start + length), place);
  else for (let i = 0; i < length; i++) to[place + i] = from[start + i]!;
}
