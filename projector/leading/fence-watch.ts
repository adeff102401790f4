// A leader moves each fence every 500 ms. One that has stood still for so many looks, 500 ms apart, is nobody's.
const looksMin = 5;

/**
 * Says whether all of some fences may be taken, from looks at them. A look that failed or was slow says nothing of the
 * leader: a store that is frozen or away deposes nobody. No clock is compared, so it is not misled by one.
 */
export class FenceWatch {
  readonly #isFree: (fence: string) => boolean;
  #last: readonly string[] = [];
  #still: number[] = [];

  constructor(isFree: (fence: string) => boolean) {
    this.#isFree = isFree;
  }

  /** Every fence at one moment, empty text for one that is absent. True if all may be taken as they were seen. */
  looked(fences: readonly string[]): boolean {
    this.#still = fences.map((fence, i) => (fence === this.#last[i] ? (this.#still[i] ?? 0) + 1 : 1));
    this.#last = fences;
    return fences.every((fence, i) => this.#isFree(fence) || this.#still[i]! >= looksMin);
  }

  /** A look failed or took too long: the count starts again. */
  missed(): void {
    this.#last = [];
    this.#still = [];
  }
}
