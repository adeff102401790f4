/** A set of offsets in 8 bytes each. Fastest when they come in rising order. */
export class OffsetSet {
  #offsets = new Float64Array(16);
  #size = 0;

  has(offset: number): boolean {
    const index = this.#indexOf(offset);
    return index < this.#size && this.#offsets[index] === offset;
  }

  add(offset: number): void {
    const index = this.#indexOf(offset);
    if (index < this.#size && this.#offsets[index] === offset) return;
    if (this.#size === this.#offsets.length) {
      const larger = new Float64Array(2 * this.#size);
      larger.set(this.#offsets);
      this.#offsets = larger;
    }
    this.#offsets.copyWithin(index + 1, index, this.#size);
    this.#offsets[index] = offset;
    this.#size++;
  }

  /** Of the first one not below. */
  #indexOf(offset: number): number {
    if (this.#size === 0 || this.#offsets[this.#size - 1]! < offset) return this.#size;
    let [low, high] = [0, this.#size - 1];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#offsets[middle]! < offset) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
