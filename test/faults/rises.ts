/** How high something had risen by when, with the line that says so. */
export interface Rise {
  at: number;
  height: number;
  line: number;
}

/** The highest of what came before a time. */
export class Rises {
  readonly #rises: Rise[] = [];

  /** Times must not fall. */
  add(rise: Rise): void {
    if (rise.height > (this.last?.height ?? 0)) this.#rises.push(rise);
  }

  get last(): Rise | undefined {
    return this.#rises.at(-1);
  }

  before(at: number): Rise | undefined {
    let [low, high] = [0, this.#rises.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#rises[middle]!.at < at) low = middle + 1;
      else high = middle;
    }
    return this.#rises[low - 1];
  }
}
