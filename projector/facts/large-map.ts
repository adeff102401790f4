/** A V8 Map or Set holds at most 2^24 entries, and throws for one more. */
const entriesMax = 2 ** 24;

/** Like a Map, without that limit: as many Maps as needed, nearly always one. */
export class LargeMap<K, V> {
  readonly #entriesMax: number;
  readonly #maps: Map<K, V>[] = [new Map()];

  /** Tests pass a smaller limit for one Map. */
  constructor(limit = entriesMax) {
    this.#entriesMax = limit;
  }

  get size(): number {
    return this.#maps.reduce((size, map) => size + map.size, 0);
  }

  get(key: K): V | undefined {
    for (const map of this.#maps) {
      const value = map.get(key);
      if (value !== undefined) return value;
    }
    return undefined;
  }

  has(key: K): boolean {
    return this.#maps.some((map) => map.has(key));
  }

  set(key: K, value: V): this {
    const [first] = this.#maps as [Map<K, V>];
    // The usual case: one Map with room.
    if (this.#maps.length === 1 && first.size < this.#entriesMax) first.set(key, value);
    else (this.#maps.find((one) => one.has(key)) ?? this.#withRoom()).set(key, value);
    return this;
  }

  delete(key: K): boolean {
    return this.#maps.some((map) => map.delete(key));
  }

  clear(): void {
    this.#maps.length = 1;
    this.#maps[0]!.clear();
  }

  *keys(): Generator<K> {
    for (const map of this.#maps) yield* map.keys();
  }

  *values(): Generator<V> {
    for (const map of this.#maps) yield* map.values();
  }

  *[Symbol.iterator](): Generator<[K, V]> {
    for (const map of this.#maps) yield* map;
  }

  #withRoom(): Map<K, V> {
    let map = this.#maps.find(({ size }) => size < this.#entriesMax);
    if (!map) {
      map = new Map();
      this.#maps.push(map);
    }
    return map;
  }
}

/** Like a Set, without that limit. */
export class LargeSet<T> {
  readonly #entriesMax: number;
  readonly #sets: Set<T>[] = [new Set()];

  /** Tests pass a smaller limit for one Set. */
  constructor(limit = entriesMax) {
    this.#entriesMax = limit;
  }

  get size(): number {
    return this.#sets.reduce((size, set) => size + set.size, 0);
  }

  has(item: T): boolean {
    return this.#sets.some((set) => set.has(item));
  }

  add(item: T): this {
    const last = this.#sets.at(-1)!;
    if (this.#sets.length === 1 && last.size < this.#entriesMax) last.add(item);
    else if (!this.has(item)) {
      if (last.size < this.#entriesMax) last.add(item);
      else this.#sets.push(new Set([item]));
    }
    return this;
  }

  *[Symbol.iterator](): Generator<T> {
    for (const set of this.#sets) yield* set;
  }
}

/** A set of whole numbers from 0, one bit each. A Set holds at most 2^24 numbers. */
export class NumberSet {
  #bits = new Uint8Array(1024);

  add(number: number): void {
    const byte = Math.floor(number / 8);
    if (byte >= this.#bits.length) {
      const bits = new Uint8Array(Math.max(byte + 1, 2 * this.#bits.length));
      bits.set(this.#bits);
      this.#bits = bits;
    }
    this.#bits[byte]! |= 1 << (number & 7);
  }

  has(number: number): boolean {
    return ((this.#bits[Math.floor(number / 8)] ?? 0) & (1 << (number & 7))) !== 0;
  }
}
