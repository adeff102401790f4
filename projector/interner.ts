// A V8 Map holds at most 2^24 entries.
const mapEntriesMax = 16_000_000;

/** Numbers texts in order of arrival. No number reaches bytes or an order: they differ between processes. */
export class Interner {
  readonly #maps: Map<string, number>[] = [new Map()];
  readonly #texts: string[] = [];
  readonly #entriesMax: number;

  constructor(entriesMax = mapEntriesMax) {
    this.#entriesMax = entriesMax;
  }

  get size(): number {
    return this.#texts.length;
  }

  /** The text's number, or -1. */
  find(text: string): number {
    for (const map of this.#maps) {
      const id = map.get(text);
      if (id !== undefined) return id;
    }
    return -1;
  }

  /** The text's number, a new one if need be. */
  add(text: string): number {
    const found = this.find(text);
    if (found >= 0) return found;
    let map = this.#maps.at(-1)!;
    if (map.size >= this.#entriesMax) {
      map = new Map();
      this.#maps.push(map);
    }
    const id = this.#texts.length;
    this.#texts.push(text);
    map.set(text, id);
    return id;
  }

  text(id: number): string {
    return this.#texts[id]!;
  }
}
