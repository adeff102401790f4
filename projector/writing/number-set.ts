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
