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

  *keys(): Generator<K> {
    for (const map of this.#maps) yield* map.keys();
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
  readonly #items: LargeMap<T, true>;

  /** Tests pass a smaller limit for one Map. */
  constructor(limit = entriesMax) {
    this.#items = new LargeMap(limit);
  }

  get size(): number {
    return this.#items.size;
  }

  has(item: T): boolean {
    return this.#items.has(item);
  }

  add(item: T): void {
    this.#items.set(item, true);
  }

  [Symbol.iterator](): Generator<T> {
    return this.#items.keys();
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
